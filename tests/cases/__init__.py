"""How tools like this one have failed real people, each case a test that is named after it."""
