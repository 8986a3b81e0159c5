"""Catalogs: what a disk holds, in one file that can be asked while the disk is away."""
