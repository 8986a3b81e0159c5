"""Workers of other machines, through dask.distributed: who may help, what goes to them, what an answer is worth.

Nothing of dask is imported before a cluster is asked for.
"""
