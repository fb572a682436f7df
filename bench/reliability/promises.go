package main

// promise is a sentence that a test shows. The test reports it through must.Tally under the same
// text.
type promise struct {
	text   string
	module string // folder of the module, if it is not the root
	pkg    string // package, by its folder in the module
	test   string // regular expression that matches the names of the tests
	long   string // the same for the long form; "": as test
	// slow: .ci/run leaves the test out of its step with all tests, because the step with the
	// promises runs it.
	slow bool
}

// promises is the list of all promises, in the order of docs/reliability.md.
var promises = []promise{
	{text: "a damaged checkpoint is an error or resumes to the same state", pkg: "train", test: "TestDamagedCheckpoint"},
	{text: "the number of threads does not change a bit of a training run", pkg: "train", test: "TestWorkersAreBitEqual"},
	{text: "a sweep on several machines survives killed workers, cut networks and a restarted broker", pkg: "cluster", test: "TestFaults", slow: true},
}
