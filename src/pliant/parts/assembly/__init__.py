"""What parts add themselves to: the system under construction, by index, with names and values of the model."""
