"""Other systems on the same weights, to be measured in the same run. Each is optional and lives in one file."""
