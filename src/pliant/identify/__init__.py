"""What needs several robots or a recording: rod models compared, recordings read and parameters fitted to them."""
