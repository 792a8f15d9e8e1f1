//go:build clearview && cgo

package main

import (
	"errors"
	"fmt"

	"clearance"
	"clearance/batch"
	"clearance/contact/scenes"
	"clearance/internal/score"
	"clearance/internal/view"
	"clearance/rollout"
)

// start opens the files or makes the scene, with the engine, which end closes. Answers of a scene description are shown
// as they stand, without an engine.
func start(o *options) (a *view.App, end func() error, err error) {
	if o.description != "" {
		d, err := view.OpenScene(o.description)
		if err != nil {
			return nil, nil, err
		}
		a, err := begin(o, d, nil)
		return a, func() error { return nil }, err
	}
	h, err := clearance.Open(clearance.WithBackend(o.backend))
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	d, err := document(o, h)
	if err != nil {
		return nil, nil, err
	}
	live := view.NewLive(h, d, rollout.Options{Options: batch.Options{MaxIterations: o.maxIterations,
		Tolerance: o.tolerance}})
	a, err = begin(o, d, live)
	return a, func() error { return errors.Join(live.Close(), h.Close()) }, err
}

// begin returns the viewer of a document at the time to begin with.
func begin(o *options, d *view.Document, live *view.Live) (*view.App, error) {
	a := view.New(d, live, o.files.First, o.width, o.height)
	a.Speed = o.speed
	if err := a.Seek(o.time); err != nil {
		return nil, err
	}
	a.Playing = o.play
	return a, nil
}

// document opens files or makes a scene.
func document(o *options, h *clearance.Handle) (*view.Document, error) {
	if o.scene != "" {
		scene, state, err := scenes.Simulation(o.scene, o.files.Count, o.seed)
		if err != nil {
			return nil, fmt.Errorf("--scene: %w", err)
		}
		return view.Simulate(h, "scene "+o.scene, scene, state, o.step)
	}
	d, err := view.Open(o.files)
	if err != nil || !o.simulate {
		return d, err
	}
	if o.files.Worlds == "" {
		return nil, fmt.Errorf("--simulate: there are no --worlds")
	}
	scene, state, err := score.Simulation(o.files.Shapes, o.files.Worlds, d.Bodies, d.Worlds,
		batch.Physics{Friction: &o.friction, Density: &o.density})
	if err != nil {
		return nil, err
	}
	return view.Simulate(h, d.Title, scene, state, o.step)
}
