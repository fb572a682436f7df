package main

// promise is a statement that a test checks. The test reports it with must.Tally and the same text.
type promise struct {
	text   string
	module string // folder of the module, if it is not the root
	pkg    string // package, by its folder in the module
	test   string // regular expression that matches the names of the tests
	long   string // the same for the long form; "": as test
}

// promises is the list of all promises, in the order of docs/reliability.md.
var promises = []promise{
	{text: "a file whose write fails at any step has the older or the newer content", pkg: "atomicfile", test: "TestEveryFault"},
	{text: "a file has the older or the newer content after a power cut at any step of its write", pkg: "atomicfile", test: "TestEveryPowerCut"},
	{text: "a snapshot whose write fails, or is cut off, at any step is the older or the newer one", pkg: "events", test: "TestStorage"},
	{text: "a saved stream whose file operation fails, or is cut off, at any step is the older or the newer one", pkg: "service", test: "TestStorage"},
	{text: "a model file whose write fails, or is cut off, at any step is the older or the newer one", pkg: "events", test: "TestStorage"},
	{text: "a run whose file operation fails at any step resumes to the same bits", pkg: "train", test: "TestEveryFaultOfRun"},
	{text: "a resumed run whose file operation fails at any step can be resumed again", pkg: "train", test: "TestEveryFaultOfResume"},
	{text: "a run resumes to the same bits after a power cut at any step", pkg: "train", test: "TestEveryPowerCutOfRun"},
	{text: "a sweep's table has the rows before or after a write that fails, or is cut off, at any step", pkg: "train", test: "TestSweepStorage"},
	{text: "a detector of studio whose write fails, or is cut off, at any step is the older or the newer one", pkg: "studio", test: "TestDetectorStorage"},
	{text: "a recording of studio whose write fails, or is cut off, at any step is whole or absent", pkg: "studio", test: "TestRecordingStorage"},
	{text: "the folder of a collected run whose write fails, or is cut off, at any step is the older or the newer one", pkg: "cluster", test: "TestCollectStorage"},
	{text: "a run that is killed at any moment resumes to the same bits", pkg: "cmd/s4d-fast", test: "TestKill"},
	{text: "a run that is killed during its first checkpoint resumes to the same bits", pkg: "cmd/s4d-fast", test: "TestKillAtFirstCheckpoint"},
	{text: "a run that SIGINT, SIGTERM or SIGHUP ends resumes to the same bits", pkg: "cmd/s4d-fast", test: "TestSignals"},
	{text: "a run whose system call fails names the file and resumes to the same bits", pkg: "cmd/s4d-fast", test: "TestSystemCallFails"},
	{text: "a sweep whose system call fails names the file and resumes to the same results", pkg: "cmd/s4d-fast", test: "TestSystemCallFails"},
	{text: "a run on a full disk names the file and resumes to the same bits", pkg: "cmd/s4d-fast", test: "TestFullDisk"},
	{text: "a sweep on a full disk names the file and resumes to the same results", pkg: "cmd/s4d-fast", test: "TestFullDisk"},
	{text: "a run that exceeds the limit of file sizes names the file and resumes to the same bits", pkg: "cmd/s4d-fast", test: "TestFileSizeLimit"},
	{text: "a run whose folder is moved, is removed or becomes read-only names the file and can be resumed, or run again, to the same bits", pkg: "cmd/s4d-fast", test: "TestFolderGone"},
	{text: "a run on ext4 resumes to the same bits after a power cut", pkg: "cmd/s4d-fast", test: "TestDiskImage"},
	{text: "the number of threads does not change a bit of a training run", pkg: "train", test: "TestWorkersAreBitEqual"},
	{text: "long kernels, their gradients and long transforms agree with float64", pkg: "fftkernel", test: "TestMillionsOfTaps|TestMillionsOfPoints"},
	{text: "long sequences agree with a float64 recurrence, in both modes", pkg: "recurrent", test: "TestMillionsOfSamples"},
	{text: "a sweep on several machines has the same results after killed workers, cut networks and a restarted server", pkg: "cluster", test: "TestFaults"},
	{text: "a damaged checkpoint is an error or the same state", pkg: "train", test: "TestEveryBitOfACheckpoint"},
	{text: "a damaged model file is an error or the same model", pkg: "model", test: "TestDamagedFile"},
	{text: "a mutated sound file is an error or gives finite samples, with bounded memory", pkg: "audio", test: "TestMutatedFiles"},
	{text: "a mutated PyTorch checkpoint is an error or whole tensors, with bounded memory", pkg: "internal/pth", test: "TestMutatedCheckpoint"},
	{text: "a mutated safetensors file is an error or whole arrays, with bounded memory", pkg: "internal/safetensors", test: "TestMutatedFile"},
	{text: "a mutated NPZ or CSV file is an error or series of its size, with bounded memory", pkg: "train/dataset", test: "TestMutatedSeries"},
	{text: "a damaged snapshot of package recurrent is rejected", pkg: "recurrent", test: "TestDamagedSnapshot"},
	{text: "a damaged snapshot of package events is rejected", pkg: "events", test: "TestDamagedSnapshot"},
	{text: "a damaged snapshot of package series is rejected", pkg: "series", test: "TestDamagedSnapshot"},
	{text: "a damaged snapshot of package filterbank is rejected", pkg: "filterbank", test: "TestDamagedSnapshot"},
	{text: "a damaged snapshot of a Resampler is rejected", pkg: "audio", test: "TestDamagedSnapshot"},
	{text: "a snapshot with random changes and correct checksums is rejected, or its stream continues with valid lines", pkg: "service", test: "TestWildSnapshots"},
	{text: "every command rejects a model with invalid weights, and names the tensor", pkg: "cmd/s4d-fast", test: "TestBadWeights"},
	{text: "parameters of an SSM are rejected if and only if their discretisation is not finite", pkg: "ssm", test: "TestWildParameters"},
	{text: "a run stops at an invalid sample before it reaches the weights", pkg: "train", test: "TestInvalidSamplesStopTheRun"},
	{text: "data that are too few to train on are an error that names the place", pkg: "cmd/s4d-fast", test: "TestTooFewData"},
	{text: "a run that diverges names the step and the first tensor, and keeps a good checkpoint", pkg: "train", test: "TestDivergenceNamesTheTensor"},
	{text: "a detector has the same events in every minute of two days of equal minutes", pkg: "events", test: "TestDays"},
	{text: "streams that share a model do not affect each other", pkg: "events", test: "TestManyStreams"},
	{text: "a connection leaves no goroutine and no stream", pkg: "service", test: "TestConnectionsLeaveNothing"},
	{text: "a TCP connection leaves no file descriptor", pkg: "service", test: "TestDescriptors"},
	{text: "a client that never reads is disconnected and holds at most 64 kB", pkg: "service", test: "TestClientsThatNeverRead"},
	{text: "after a hostile exchange no stream and no goroutine remain, and the service serves other clients", pkg: "service", test: "TestHostileExchanges"},
	{text: "a block of audio waits for at most one block of every other client", pkg: "service", test: "TestFairness"},
	{text: "only authorised requests are served", pkg: "service", test: "TestBearerToken|TestHost|TestOrigin|TestAllowedOrigins|TestTLS"},
	{text: "a client that exceeds a limit is slowed down, rejected or disconnected", pkg: "service", test: "TestMaxConnections|TestConnectionsPerClient|TestMaxStreams|TestMaxPerClient|TestMaxBytes|TestMaxRate|TestMaxMessage|TestIdleClients|TestHeaderLimits"},
	{text: "an invalid frame ends its stream, and the service continues", pkg: "service", test: "TestHostileFrames"},
	{text: "no control character of a request reaches the log", pkg: "service", test: "TestLogHasNoControlCharacters"},
	{text: "the last lines of a stream are kept until its client confirms them", pkg: "service", test: "TestLostEnd|TestConfirmedEnd"},
	{text: "a stream has every event once over restarts of the service", module: "examples/service", pkg: ".", test: "TestRestarts"},
	{text: "a stream has every event once after kills of the service", module: "examples/service", pkg: ".", test: "TestKills"},
	{text: "after a system call of a service has failed, the next process continues each stream from its last snapshot", module: "examples/service", pkg: ".", test: "TestServiceSystemCallFails"},
	{text: "a service that cannot write snapshots exits with 1, and the next process continues each stream from its last snapshot", module: "examples/service", pkg: ".", test: "TestServiceFullDisk"},
	{text: "a stream over a faulty network has every event once", module: "examples/service", pkg: ".", test: "TestEveryEventOnce"},
}
