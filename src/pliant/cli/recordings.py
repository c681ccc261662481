"""Commands that use recordings: compare and fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from pliant.analysis.derivation.derive import derive
from pliant.analysis.numerics.status import Status
from pliant.cli.command_output import answering, check_json_file, check_picture, drawing, write_json
from pliant.cli.common import CommandError, Inputs, Json, Model, ModelOptions, console, print_json, say
from pliant.cli.model_argument import load_model, read_inputs, read_value, with_inputs
from pliant.cli.progress import SearchLine
from pliant.cli.reporting import Report, check_report, save_report
from pliant.engine.core import check_names
from pliant.engine.equations import Equations
from pliant.engine.model.recorded_inputs import driving_columns
from pliant.engine.outputs import output_units
from pliant.identify.compare import ARRAYS, Comparison
from pliant.identify.compare import compare as run_comparison
from pliant.identify.cross_validation import HeldOut, Profile
from pliant.identify.fit import Fit, cycles
from pliant.identify.fit import fit as run_fit
from pliant.identify.measurement import Measurement
from pliant.identify.recording import LEAST_REST, check_not_driven, plateaus, thousandths
from pliant.language.recording import Recording, read_recording
from pliant.robot.robot import RobotSpec
from pliant.show import plot as draw
from pliant.show.report import ComparisonContent, FitContent

Against = Annotated[
    str | None,
    typer.Option(
        "--against", metavar="FILE", help="Recording: .csv, .parquet or .mat with columns t [s], p1 [Pa], ..."
    ),
]
OutputName = Annotated[str, typer.Option("--output", help="Output of the model to compare.")]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="Columns of that output in the recording, separated by commas; default tip.x,tip.y,tip.z or x,y,z.",
    ),
]
Begin = Annotated[float | None, typer.Option("--from", help="Start of the time window [s].")]
End = Annotated[float | None, typer.Option("--to", help="End of the time window [s].")]
RestAt = Annotated[
    str | None, typer.Option("--rest-at", help="Times of the equilibria to compare [s], separated by commas.")
]
Out = Annotated[str | None, typer.Option("--out", help="JSON file to write.")]


def compare(
    model: Model,
    rods: Annotated[
        list[str] | None,
        typer.Option(
            "--rods",
            metavar="NAME=KIND:N,...",
            help="Rod models to compare; once for each rod to change. Default: the model as it is.",
        ),
    ] = None,
    against: Against = None,
    output: OutputName = "tip",
    columns: Columns = None,
    begin: Begin = None,
    end: End = None,
    rest_at: RestAt = None,
    until: Annotated[
        float | None, typer.Option("--until", help="Duration without a recording [s]; default 1 s.")
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Plot to write: .pdf, .svg or .png.")
    ] = None,
    *,
    choices: ModelOptions,
    inputs: Inputs = None,
    out: Out = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Compare a model, or several rod models, with a recording or with each other: accuracy and cost."""
    check_picture(plot)
    check_json_file(out)
    check_report(report)
    if against is None and columns is not None:
        raise CommandError("--columns applies to recordings only", "give one with --against FILE")
    spec = load_model(model, choices)
    models = _rod_models(spec, rods, against)
    found = answering(
        lambda: run_comparison(
            spec,
            models,
            (),
            None if against is None else read_recording(against),
            output=output,
            columns=_names(columns),
            window=_window(begin, end),
            rest_at=_times(rest_at),
            until=until,
            inputs=read_inputs(derive(spec), inputs) if inputs else None,
        )
    )
    for note in (note for row in found for note in row.notes):
        say(f"pliant: {note}")
    broken = 2 if any(row.status == Status.FAILED for row in found) else 0
    failed = save_report(report, derive(spec), [ComparisonContent(tuple(found))])
    if plot is not None:
        drawing(lambda: draw.save(draw.compare(found), plot), plot)
    names = [f.name for f in fields(Comparison) if f.name not in ARRAYS]
    answer = {
        "model": model,
        "status": "failed" if broken else "ok",
        "against": against or _against(models or {}, found[-1]),
        "rest_at": found[0].static_times,
        "rows": [{name: getattr(row, name) for name in names} for row in found],
    }
    write_json(out, answer)
    if json:
        print_json(answer)
    else:
        _print_comparison(found)
    return failed or broken


def _rod_models(spec: RobotSpec, given: Sequence[str] | None, against: str | None) -> dict[str, list[str]] | None:
    """The models of each rod from NAME=KIND:N,KIND:N; None for the model as it is."""
    example = f"--rods {next(iter(spec.rods), 'arm').partition('[')[0]}=pcs:3,cosserat:5"
    if not given:
        if against is None:
            more = f", or rod models to compare with each other with {example}" if spec.rods else ""
            raise CommandError("there is nothing to compare with", f"give a recording with --against FILE{more}")
        return None
    found: dict[str, list[str]] = {}
    for words in given:
        rod, equals, listed = words.partition("=")
        kinds = [kind.strip() for kind in listed.split(",") if kind.strip()]
        if not equals or not rod.strip() or not kinds:
            raise CommandError(f"cannot read --rods {words!r}", f"write {example}")
        if rod.strip() in found:
            raise CommandError(f"--rods {rod.strip()} is given twice", f"list all its models in one option: {example}")
        found[rod.strip()] = kinds
    return found


def _against(models: Mapping[str, Sequence[str]], last: Comparison) -> str:
    return last.rod if len(models) > 1 else f"{next(iter(models))}={last.rod}"


def _print_comparison(found: Sequence[Comparison]) -> None:
    """Print two tables that fit a terminal of 80 columns: accuracy and speed, then the cost of deriving the equations."""
    what = "model" if all(row.rod == "model" for row in found) else "rod"
    heads = f"{what},;states,;static,s;run,s;speed,x real;mean,mm;share,%;max,mm;at rest,mm"
    errors = _table(heads.replace("mm", found[0].unit if found else "mm"))
    costs = _table(f"{what},;states,;derive,s;compile,s;code,kB;memory,kB")
    for row in found:
        if row.status == Status.FAILED:
            errors.add_row(row.rod, "failed")
            continue
        numbers = (row.mean_error_mm, row.mean_error_percent, row.max_error_mm, row.static_mean_error_mm)
        static = f"{row.static_s:.2g}" if len(row.static_times) else "-"
        cells = [
            "as it is" if row.rod == "model" else row.rod,
            str(row.states),
            static,
            f"{row.run_s:.2g}",
            _factor(row.realtime_factor),
        ]
        errors.add_row(*cells, *("-" if x != x else f"{x:.3g}" for x in numbers))
        sizes = (f"{row.code_kb:.0f}", f"{row.memory_kb:.0f}")
        costs.add_row(*cells[:2], f"{row.derive_s:.2g}", f"{row.compile_s:.2g}", *sizes)
    console().print(errors)
    console().print()
    console().print(costs)


def _factor(value: float) -> str:
    """An integer from ten on, and two significant digits below, so that nothing is rounded to zero."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _table(heads: str) -> Table:
    """An empty table. heads: column headings, separated by semicolons; a comma separates the two lines of each."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for head in heads.split(";"):
        table.add_column(Text("\n".join(head.split(","))), no_wrap=True)
    return table


def _names(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",")]


def _window(begin: float | None, end: float | None) -> tuple[float, float] | None:
    if begin is None and end is None:
        return None
    if begin is None or end is None or not begin < end:
        raise CommandError("the window needs --from below --to", "write --from 7 --to 54")
    return begin, end


def _times(words: str | None) -> list[float] | None:
    if words is None:
        return None
    try:
        return [float(word) for word in words.split(",")]
    except ValueError:
        raise CommandError(f"cannot read the times {words!r}", "write --rest-at 8.7,15.15,21.7") from None


def fit(
    model: Model,
    parameters: Annotated[str, typer.Option("--parameters", help="Parameters to fit, separated by commas.")],
    against: Annotated[
        list[str] | None, typer.Option("--against", metavar="FILE", help="Recording; may be given several times.")
    ] = None,
    rests: Annotated[
        list[str] | None,
        typer.Option("--rests", metavar="FILE", help="Recording of equilibria to fit; may be given several times."),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output", metavar="NAME=COLUMNS", help="Output, with its columns: p1=p1_x,p1_y,p1_z; default tip."
        ),
    ] = None,
    columns: Columns = None,
    begin: Begin = None,
    end: End = None,
    hold_out: Annotated[
        str | None, typer.Option("--hold-out", help="even or odd loading cycles to hold out for testing.")
    ] = None,
    at_rest: Annotated[bool, typer.Option("--at-rest", help="Fit equilibria instead of the motion.")] = False,
    rest_at: RestAt = None,
    prior: Annotated[
        list[str] | None,
        typer.Option("--prior", metavar="NAME=MEAN,DEVIATION", help='Prior of a parameter: "density=1200,50 kg/m^3".'),
    ] = None,
    folds: Annotated[int | None, typer.Option("--folds", help="Number of folds for cross-validation.")] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Parameters to profile, separated by commas.")
    ] = None,
    *,
    choices: ModelOptions,
    inputs: Inputs = None,
    out: Out = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Identify physical parameters from recordings."""
    if not against and not rests:
        raise CommandError("there is nothing to fit to", "give a recording with --against FILE")
    check_json_file(out)
    check_report(report)
    if hold_out not in (None, "even", "odd"):
        raise CommandError(f"unknown cycles '{hold_out}'", "write --hold-out even or --hold-out odd")
    fitted = [name.strip() for name in parameters.split(",")]
    recorded = [answering(lambda file=file: read_recording(file)) for file in against or ()]
    posed = [answering(lambda file=file: read_recording(file, poses=True)) for file in rests or ()]
    eqs = derive(load_model(model, choices))
    ends = [float(t) for one in (*recorded, *posed) for t in (one.time[0], one.time[-1])]
    eqs = with_inputs(eqs, inputs, begin=min(ends), end=max(ends), free=fitted)
    outputs = _outputs(output, columns)
    options = {"outputs": outputs, "window": _window(begin, end)}
    priors = _priors(eqs, prior)

    def work() -> FitContent:
        for one in (*recorded, *posed):
            check_not_driven(eqs.model, one, eqs.given_inputs)
        given = [_measurement(eqs, one, options, hold_out, at_rest, _times(rest_at)) for one in recorded]
        given += [_measurement(eqs, one, options, hold_out, True, None) for one in posed]
        with SearchLine() as line:
            return _stages(eqs, fitted, given, priors, folds, _names(profile) or [], line)

    checked: FitContent = answering(work)
    found, left_out, profiles = checked.fit, checked.held_out, checked.profiles
    for note in found.warnings:
        say(f"pliant: {note}")
    answer = {"model": model, **found.data()}
    if left_out is not None:
        answer["held_out"] = {
            "folds": folds, "rms": left_out.rms, "spread": left_out.spread, "parameters": left_out.parameters
        }  # fmt: skip
    if profiles:
        answer["profiles"] = [one.__dict__ for one in profiles]
    write_json(out, answer)
    failed = save_report(report, eqs, [checked])
    if json:
        print_json(answer)
    else:
        _print_fit(found)
        _print_checks(found, left_out, profiles)
    return failed


def _stages(
    eqs: Equations, parameters: Sequence[str], given: Sequence[Measurement], priors: dict[str, tuple[float, float]],
    folds: int | None, profiled: Sequence[str], line: SearchLine,
) -> FitContent:  # fmt: skip
    """The fit and the requested checks, with a progress line for each."""
    updates: list[Callable[[str], None]] = []  # the fit keeps `progress`, so later stages replace what it calls
    units = output_units(eqs.model)
    compared = {units.get(name, "") for one in given for name in one.outputs}
    unit = thousandths(compared.pop()) if len(compared) == 1 else "thousandths of the outputs' units"

    def progress(count: int, error: float) -> None:
        updates[-1](f"mean error {error:.4g} {unit}")

    check_names("fitted parameter", profiled, parameters)
    with line.stage("fit") as update:
        updates.append(update)
        found = run_fit(eqs, parameters, given, priors=priors, progress=progress)
    left_out = None
    if folds is not None:
        with line.stage(f"cross-validation in {folds} folds") as update:
            updates.append(update)
            left_out = found.cross_validate(folds)
    profiles = []
    for name in profiled:
        with line.stage(f"profile of {name}") as update:
            updates.append(update)
            profiles.append(found.profile(name))
    return FitContent(found, left_out, tuple(profiles))


def _outputs(given: Sequence[str] | None, columns: str | None) -> dict[str, list[str] | None]:
    """Outputs with their columns, from NAME or NAME=COLUMN,COLUMN."""
    if not given:
        return {"tip": _names(columns)}
    found: dict[str, list[str] | None] = {}
    for word in given:
        name, equals, listed = word.partition("=")
        if equals and columns is not None:
            raise CommandError("--columns applies to a single --output without its own columns")
        found[name.strip()] = _names(listed if equals else columns)
    return found


def _priors(eqs: Equations, given: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    """Means and deviations [SI]; a unit given once applies to both."""
    found = {}
    example = 'write --prior "density=1200,50 kg/m^3"'
    for word in given or ():
        name, equals, values = word.partition("=")
        name, (mean, comma, deviation) = name.strip(), values.partition(",")
        if not equals or not comma:
            raise CommandError(f"cannot read --prior {word!r}", example)
        check_names("parameter", [name], eqs.parameters)
        unit = deviation.strip().partition(" ")[2]
        mean = mean.strip() if " " in mean.strip() else f"{mean.strip()} {unit}".strip()
        found[name] = (read_value(eqs, name, mean), read_value(eqs, name, deviation.strip()))
    return found


def _measurement(
    eqs: Equations,
    recording: Recording,
    options: dict[str, Any],
    hold_out: str | None,
    at_rest: bool,
    rests: list[float] | None,
) -> Measurement:
    driven = list(driving_columns(eqs.model, recording).values())
    use = None
    if not recording.timed:
        if hold_out is not None or options["window"] is not None:
            raise CommandError(
                f"the poses of {recording.file} have no times",
                "leave out --from, --to and --hold-out, or add a column t_s",
            )
        return Measurement(recording, rest_at=recording.time, **options)
    if not driven and (hold_out is not None or (at_rest and rests is None)):
        what = "loading cycles" if hold_out is not None else "equilibria"
        raise CommandError(
            f"no column of {recording.file} is an input of the model, so {what} cannot be detected",
            "name a column like an input"
            + ("" if hold_out is not None else ", or give the times of equilibria with --rest-at"),
        )
    if hold_out is not None:
        use = cycles(recording, driven) % 2 == (1 if hold_out == "even" else 0)
    if at_rest and rests is None:
        rests = plateaus(recording, driven)
        if not rests:
            raise CommandError(
                f"{recording.file} has no {LEAST_REST:g} s in which all inputs are constant under load",
                "give the times of equilibria with --rest-at",
            )
    return Measurement(recording, use=use, rest_at=rests, **options)


def _print_checks(found: Fit, left_out: HeldOut | None, profiles: Sequence[Profile]) -> None:
    out = console()
    if left_out is not None:
        errors = ", ".join(f"{name} {1e3 * rms:.3g}" for name, rms in left_out.rms.items())
        out.print(f"held out and predicted, root mean square in thousandths: {errors}", markup=False)
        table = Table("parameter", "spread over the folds", box=None)
        for name, spread in left_out.spread.items():
            table.add_row(name, found.units[name].plain(spread, ".3g"))
        out.print(table)
    for one in profiles:
        interval = found.units[one.name].interval(*one.interval, found.deviations[one.name])
        out.print(f"{one.name}: 95 % interval by its profile {interval}", markup=False)


def _print_fit(found: Fit) -> None:
    table = Table("parameter", "before", "found", "95 % interval", box=None)
    for name, value in found.parameters.items():
        unit, deviation = found.units[name], found.deviations[name]
        bound = " (at its bound)" if name in found.at_bounds else ""
        interval = unit.interval(*found.intervals[name], deviation)
        table.add_row(name, unit.plain(found.start[name]), f"{unit.value(value, deviation)}{bound}", interval)
    out = console()
    out.print(table)
    names = list(found.parameters)
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    for i, j in pairs:
        if not all(math.isfinite(found.deviations[names[k]]) for k in (i, j)):
            continue
        out.print(f"errors of {names[j]} and {names[i]} are correlated by {found.correlation[i, j]:+.2f}", markup=False)
    out.print(
        f"mean error on the fitted samples: {found.before_mm:.3f} {found.unit} before, {found.after_mm:.3f} {found.unit} after"
    )
    if found.after_test_mm == found.after_test_mm:
        before, after = f"{found.before_test_mm:.3f} {found.unit}", f"{found.after_test_mm:.3f} {found.unit}"
        out.print(f"on the held-out cycles: {before} before, {after} after")
    exact = found.derivatives == "exact"
    words = "exact derivatives" if exact else f"finite differences ({found.derivatives})"
    out.print(f"{found.evaluations} evaluation{'s' * (found.evaluations > 1)} with {words}")
