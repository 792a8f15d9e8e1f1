package peers_test

import (
	"math"
	"os"
	"testing"

	"clearance/batch"
	"clearance/internal/testkit/arm"
	"clearance/lab/peers"
)

// BenchmarkArmPeers measures other libraries on the pairs of parts of 256 worlds of BenchmarkArm, one after the other
// on one core, as a loop in C++ calls them: distances, and of penetrating pairs that they penetrate; then distances up
// to the limit of BenchmarkArm, by libraries that have one. The metric worlds/s is by the CPU time of that loop alone.
// The folder of `make peers` is CLEARANCE_PEERS, by default build here.
func BenchmarkArmPeers(b *testing.B) {
	build := os.Getenv("CLEARANCE_PEERS")
	if build == "" {
		build = "build"
	}
	list, _, err := peers.Open(build, b.TempDir())
	if err != nil {
		b.Skip(err)
	}
	bodies, w := arm.New(b, peerWorlds)
	set, err := peers.NewSetOf(b.Context(), "arm", bodies.Library(), pairsOf(bodies, w), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	distance, err := peers.ParseQuestion("gjk")
	if err != nil {
		b.Fatal(err)
	}
	part, truth, err := set.Part(b.Context(), &distance)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range list {
		defer c.Close()
		if err := c.Shapes(set); err != nil {
			b.Logf("%s: %v", c.Info().Name, err)
			continue
		}
		if err := c.Pairs(part); err != nil {
			b.Fatal(err)
		}
		for _, q := range []peers.Question{distance, peers.Near()} {
			configurations, err := c.Configurations(&q)
			if err != nil {
				b.Logf("%s: %s: %v", c.Info().Name, q.Name, err)
				continue
			}
			for _, configuration := range configurations {
				b.Run(c.Info().Name+"/"+q.Name+"/"+configuration, func(b *testing.B) {
					runPeer(b, c, &q, configuration, truth)
				})
			}
		}
	}
}

const peerWorlds = 256

// runPeer measures one configuration, and counts the wrong answers.
func runPeer(b *testing.B, c peers.Contestant, q *peers.Question, configuration string, truth []peers.Truth) {
	best := 0.0
	for b.Loop() {
		s, err := c.Run(q, configuration)
		if err != nil {
			b.Fatal(err)
		}
		best = max(best, peerWorlds/s)
	}
	answers, err := c.Answers()
	if err != nil {
		b.Fatal(err)
	}
	limit := math.Inf(1)
	if q.Name == peers.Near().Name {
		limit = peers.NearLimit
	}
	wrong := 0
	for i, a := range answers {
		want := truth[i].Distance
		near := want > 1e-3 && want < limit
		if (near && !(math.Abs(a.Distance-want) < 1e-4)) || (want >= limit && a.Distance < limit-1e-4) {
			wrong++
		}
	}
	b.ReportMetric(best, "worlds/s")
	b.ReportMetric(float64(wrong), "wrong")
	b.ReportMetric(float64(len(answers))/peerWorlds, "pairs/world")
}

// pairsOf returns the pairs of parts of worlds as a list.
func pairsOf(bodies *batch.Bodies, w *batch.Worlds) *batch.Pairs {
	var rows []batch.Row
	for world := range w.Count() {
		for p := range w.TemplateA {
			ka, kb := w.TemplateA[p], w.TemplateB[p]
			a, b := w.Body(world, ka), w.Body(world, kb)
			for i, pa := range bodies.Parts(a) {
				for j, pb := range bodies.Parts(b) {
					rows = append(rows, batch.Row{
						ShapeA: pa.Shape, PoseA: bodies.PartPose(a, i, w.Pose(world, ka)),
						ShapeB: pb.Shape, PoseB: bodies.PartPose(b, j, w.Pose(world, kb)),
					})
				}
			}
		}
	}
	list := batch.NewPairs(len(rows))
	for i := range rows {
		list.SetRow(i, &rows[i])
	}
	return list
}
