"""How fast training is: measured here, nowhere else."""
