package main

// #include "clearance.h"
import "C"

import (
	"clearance/internal/kinematics"
)

//export clearance_forward
func clearance_forward(list *C.clearance_array, count C.int64_t, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		a, err := arraysOf(list, count)
		if err != nil {
			return err
		}
		w, dof, m := a.size("worlds"), a.size("coordinates"), a.size("bodies")
		joints, places := jointsOf(a), placesOf(a)
		values := needed[float64](a, "values", product(w, dof), false)
		base := baseOf(a, w)
		poses := needed[float64](a, "poses", product(7, w, m), true)
		if err := a.check(); err != nil {
			return err
		}
		if len(places) > m {
			return argument("%d places of %d bodies", len(places), m)
		}
		tree, err := kinematics.New(joints, places, dof)
		if err != nil {
			return failure{codeArgument, err}
		}
		tree.Write(poses, 7*m, values, base, w)
		return nil
	}())
}

// jointsOf are the joints among the arrays of a call.
func jointsOf(a *arrays) []kinematics.Joint {
	n := a.size("joints")
	kind := needed[uint8](a, "kind", n, false)
	above, index := needed[int32](a, "above", n, false), needed[int32](a, "index", n, false)
	place, axis := needed[float64](a, "place", product(7, n), false), needed[float64](a, "axis", product(3, n), false)
	multiplier, offset := needed[float64](a, "multiplier", n, false), needed[float64](a, "offset", n, false)
	if a.err != nil {
		return nil
	}
	joints := make([]kinematics.Joint, n)
	for i := range joints {
		joints[i] = kinematics.Joint{Kind: kinematics.Kind(kind[i]), Above: above[i], Index: index[i],
			Place: kinematics.Pose(place[7*i:]), Axis: [3]float64(axis[3*i:]), Multiplier: multiplier[i],
			Offset: offset[i]}
	}
	return joints
}

// placesOf are the places that poses are wanted of.
func placesOf(a *arrays) []kinematics.Place {
	n := a.size("places")
	frame, within := needed[int32](a, "frame", n, false), needed[float64](a, "within", product(7, n), false)
	if a.err != nil {
		return nil
	}
	places := make([]kinematics.Place, n)
	for i := range places {
		places[i] = kinematics.Place{Frame: frame[i], Within: kinematics.Pose(within[7*i:])}
	}
	return places
}

// baseOf are the poses of the root: none, one, or one of each of w worlds.
func baseOf(a *arrays, w int) []float64 {
	if c := a.of["base"]; c != nil && int64(c.count) == 7 {
		return numbers[float64](a, "base", 7, false)
	}
	return numbers[float64](a, "base", product(7, w), false)
}
