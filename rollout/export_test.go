package rollout

// Arm is the scene of BenchmarkArm, for tests that this package cannot hold.
var Arm = arm
