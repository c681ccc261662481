"""The command `sweep`: run an analysis for many cases, and show the results."""

import json as plain_json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from pliant.analysis.base import analysis as analysis_class
from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.numerics.result import INTERRUPTED
from pliant.analysis.simulate import simulate
from pliant.cli.command_output import answering, check_picture, check_report, drawing, print_sheet, save_report
from pliant.cli.common import (
    NO_VALUE,
    CommandError,
    Inputs,
    Interrupted,
    Json,
    ModelOptions,
    console,
    print_json,
    say,
    without_value,
)
from pliant.cli.model_argument import load_model, read_inputs, read_settings
from pliant.engine.equations import Equations
from pliant.language.base import read_errors
from pliant.language.limits import time_is_up
from pliant.language.message_text import suggestion
from pliant.language.provided import analyses
from pliant.robot.reader import load_text
from pliant.show import plot as draw
from pliant.show.report import SweepContent
from pliant.study.cases import Cases
from pliant.study.folder import MANIFEST, SweepFolder
from pliant.study.many import SweepEnd, read_value, run_sweep
from pliant.study.results import BEST_CASES, NOT_RUN, Table, measured
from pliant.study.structures import ModelFile, structures

BEST = 3
"""Number of cases that a report plays."""

Subject = Annotated[
    str, typer.Argument(metavar="MODEL|FOLDER", help="A model (MODEL@VARIANT), or the folder of a sweep to show.")
]


@without_value("--plot", "--report")
def sweep(
    model: Subject,
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="NAME=VALUES", help='Values of a parameter: "k=1:3:20 kPa", "arm=pcs:4,cosserat:10".'),
    ] = None,
    sample: Annotated[
        str | None, typer.Option("--sample", metavar="KIND:N", help="Samples: random, sobol, halton, latin; default: combinations.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the samples; default 0.")] = None,
    analysis: Annotated[
        str | None, typer.Option("--analysis", help="Any analysis, such as equilibrium or modes; default simulate.")
    ] = None,
    until: Annotated[float | None, typer.Option("--until", help="End of simulations [s]; default 1.")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="Another option of the analysis: rtol=1e-5.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="NAMES", help="Variables to save; default: all, of motions q,v,outputs.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FOLDER", help="Folder of the results; an unfinished sweep is continued.")
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Threads or concurrent tasks; default all cores.")] = None,
    dask: Annotated[
        str | None, typer.Option("--dask", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler.")
    ] = None,
    table: Annotated[bool, typer.Option("--table", help="Print the cases, best first.")] = False,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="[FILE]", help="Plot of effects (.pdf, .svg, .png); default FOLDER/plot.png.")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="[FILE]", help="Report to write (.html); default FOLDER/report.html.")
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Measure that ranks the cases; default: the first that differs.")
    ] = None,
    largest: Annotated[bool, typer.Option("--largest", help="The largest value is best, not the smallest.")] = False,
    *,
    choices: ModelOptions,
    inputs: Inputs = None,
    json: Json = False,
) -> int:  # fmt: skip
    """Run an analysis for many cases, on all cores, saving each finished one; or show the results of a sweep."""
    plot, report = _beside(plot, out or model, "plot.png"), _beside(report, out or model, "report.html")
    check_picture(plot)
    check_report(report)
    end: SweepEnd | None = None
    if (Path(model) / MANIFEST).exists():
        refused = {"--vary": vary, "--sample": sample, "--seed": seed, "--analysis": analysis, "--until": until}
        refused |= {
            "--option": option,
            "--keep": keep,
            "--out": out,
            "--workers": workers,
            "--dask": dask,
            "--input": inputs,
            **{f"--{name}": given for name, given in vars(choices).items()},
        }
        for flag in (flag for flag, given in refused.items() if given is not None):
            raise CommandError(f"{model} is an existing sweep; {flag} is for a new one", "give the model and --out")
        folder = answering(lambda: SweepFolder.open(model))
    else:
        if Path(model).is_dir():
            raise CommandError(f"the folder {model} contains no sweep", "give a model, or a folder written by --out")
        if not vary or out is None:
            raise CommandError(
                "a sweep needs values to vary and a folder", 'give --vary "k=1:3:20 kPa" and --out runs/'
            )
        kind = analysis or "simulate"
        if kind not in analyses():
            known = tuple(analyses())
            raise CommandError(f"unknown analysis '{kind}'", suggestion(kind, known, f"known: {', '.join(known)}"))
        if until is not None and "until" not in analysis_class(kind).options():
            raise CommandError("--until applies to simulations only", "omit it")
        varied = _varied(vary)
        end = _run(
            _model_file(model, choices), varied, out, sample, seed, kind,
            _options(kind, until, option) | _inputs(model, choices, inputs, varied), keep, workers, dask,
        )  # fmt: skip
        folder = answering(lambda: SweepFolder.open(out))
    found = measured(answering(folder.dataset))
    if by is not None or report is not None or plot is not None:
        by = answering(lambda: found.measure(by))[0]
    if plot is not None:
        drawing(lambda: draw.save(draw.effects(found, by), plot), plot)
        say(f"saved to {plot}")
    failed = 0
    if report is not None:
        failed = _save_report(report, folder, found, by, largest)
    if json:
        print_json(_answer(folder, found, end, by, largest))
    elif table or (plot is None and report is None):
        _print(folder, found, by, largest)
    if end is not None and end.interrupted:
        say(
            f"{time_is_up() or INTERRUPTED}; the same command runs the remaining {end.cases - end.before - end.done} cases"
        )
        raise Interrupted
    return failed


def _beside(file: str | None, folder: str, name: str) -> str | None:
    """The file; if requested without a name, a file of the default name in the folder of the sweep."""
    return str(Path(folder) / name) if file == NO_VALUE else file


def _model_file(model: str, choices: ModelOptions) -> ModelFile:
    load_model(model, choices)  # reports errors as other commands do, before the sweep begins
    rods = {name.strip(): kind.strip() for name, _, kind in (x.partition("=") for x in choices.rod or ())}
    return ModelFile(model, choices.variant, read_settings(choices.set), tuple(choices.folder or ()), rods)


def _varied(vary: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for given in vary:
        name, equals, values = given.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise CommandError(f"cannot read --vary {given!r}", 'write --vary "k=1:3:20 kPa"')
        if name.strip() in found:
            raise CommandError(f"--vary gives '{name.strip()}' twice", "keep one of them")
        found[name.strip()] = values.strip()
    return found


def _inputs(
    model: str, choices: ModelOptions, settings: Sequence[str] | None, varied: Mapping[str, str]
) -> dict[str, Any]:
    """Inputs of all cases, as an option of the analysis."""
    if not settings:
        return {}
    eqs = derive(load_model(model, choices))
    found = answering(lambda: read_inputs(eqs, settings))
    for name in found:
        if name in varied:
            raise CommandError(f"the input '{name}' is both varied and given", "omit --input or --vary of it")
    return {"inputs": found}


def _options(analysis: str, until: float | None, given: Sequence[str] | None) -> dict[str, Any]:
    """Options of an analysis from NAME=VALUE, checked by the same schema as those in model files."""
    found: dict[str, Any] = {} if until is None else {"until": until}
    for setting in given or ():
        name, equals, value = setting.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise CommandError(f"cannot read --option {setting!r}", "write --option rtol=1e-5")
        try:
            found[name.strip()] = plain_json.loads(value)
        except ValueError:
            found[name.strip()] = value.strip()
    try:
        analysis_class(analysis).of_file(found)
    except ValidationError as error:
        path, message, hint = next(iter(read_errors(error)))
        raise CommandError(f"--option {'.'.join(map(str, path))}: {message}", hint) from None
    return found


def _run(
    model: ModelFile, vary: Mapping[str, str], out: str, sample: str | None, seed: int | None, analysis: str,
    options: dict[str, Any], keep: str | None, workers: int | None, dask: str | None,
) -> SweepEnd:  # fmt: skip
    if seed is not None and sample is None:
        raise CommandError("--seed applies to samples only", "add --sample sobol:1000")
    kept = None if keep is None else tuple(word.strip() for word in keep.split(",") if word.strip())

    def work() -> SweepEnd:
        return run_sweep(
            model, vary, out, sample=sample, seed=seed or 0, analysis=analysis, keep=kept, workers=workers, executor=dask,
            progress=True, options=options,
        )  # fmt: skip

    found: SweepEnd = answering(work)
    if found.before:
        say(f"{found.before} of {found.cases} cases were already done")
    return found


def _answer(folder: SweepFolder, found: Table, end: SweepEnd | None, by: str | None, largest: bool) -> dict[str, Any]:
    counts = found.counted()
    answer: dict[str, Any] = {
        "model": folder.manifest["model"],
        "status": "incomplete" if NOT_RUN in counts else "complete",
        "folder": str(folder.path),
        "analysis": folder.manifest["analysis"],
        "cases": len(found.status),
        "statuses": counts,
    }
    if end is not None:
        answer |= {"done_before": end.before, "done_now": end.done}
    answer["failures"] = [{"case": k, "message": message} for k, message in found.failures()[:BEST_CASES]]
    answer["remarks"] = found.remarks()
    if found.measures:
        name, values = found.measure(by)
        columns = {**found.varied, name: values}
        best = found.ranked(by, largest=largest)[:BEST_CASES]
        answer |= {"by": name, "best": [{"case": k, **{n: x[k].tolist() for n, x in columns.items()}} for k in best]}
    return answer


def _print(folder: SweepFolder, found: Table, by: str | None, largest: bool) -> None:
    counts = ", ".join(f"{n} {word}" for word, n in found.counted().items())
    console().print(f"{len(found.status)} cases of {folder.manifest['model']}: {counts}", markup=False)
    if found.measures:
        sheet = found.best(by, largest=largest, every=True)
        console().print(
            f"sorted by {found.measure(by)[0]}, {sheet.title.split()[0]} first (--by, --largest)", markup=False
        )
        if omitted := print_sheet(sheet.short):
            say(f"not shown: {omitted}; --json and results.nc have them all")
        if sheet.hidden:
            say(f"{sheet.hidden} more cases are not shown; --json and results.nc have more")
    for remark in found.remarks():
        say(remark)
    for k, message in found.failures()[:5]:
        say(f"case {k} failed: {message}")


def _save_report(file: str, folder: SweepFolder, found: Table, by: str | None, largest: bool) -> int:
    name = found.measure(by)[0]
    ranked, which = found.ranked(name, largest=largest), folder.manifest["which"]
    alike = [k for k in ranked if which[k] == which[ranked[0]]]  # one page shows one structure
    best = tuple((k, *_again(folder, k)) for k in alike[:BEST])
    played = tuple(x for x in best if x[2] is not None)
    eqs = played[0][1] if played else derive(load_text(folder.manifest["structures"][0]["text"]))
    return save_report(file, eqs, [SweepContent(found, name, largest, played)])


def _again(folder: SweepFolder, case: int) -> tuple[Equations, Any]:
    """The equations of a case, and its motion or pose, computed again: the saved data is not enough for a picture."""
    manifest, row = folder.manifest, dict(folder.rows[case])
    spec = load_text(manifest["structures"][manifest["which"][case]]["text"])
    eqs = derive(spec)
    names = {*eqs.model.environment.names, *eqs.coordinates, *eqs.rates, "start"}
    row = {name: x for name, x in row.items() if name in names and name not in eqs.model.structural}
    sorted_ = structures(eqs, Cases((row,))).values[0]
    options = dict(manifest["options"])
    if manifest["analysis"] not in ("simulate", "equilibrium"):
        return eqs, None
    if sorted_.start is not None:
        options["start"] = sorted_.start
    shared = {name: read_value(x) for name, x in (options.pop("inputs", None) or {}).items()}
    inputs = {**shared, **sorted_.inputs}
    analyse: Any = simulate if manifest["analysis"] == "simulate" else equilibrium
    return eqs, answering(
        lambda: analyse(eqs, parameters=sorted_.parameters, inputs=inputs, on_failure="return", **options)
    )
