"""How a job starts and ends: what the launcher says, threads, output, uncaught exceptions."""
