package verify

import (
	"reflect"
	"testing"

	"clearance/batch"
)

// Every query that is answered has an audit, and no other one has: its row has all functions but place, which few need.
func TestEveryQueryIsAudited(t *testing.T) {
	for q, r := range rulesOf {
		query := batch.Query(q)
		if answered := query.Info().Answered; answered != (r != nil) {
			t.Errorf("query %v: answered is %t, and the table has a row: %t", query, answered, r != nil)
		}
		if r == nil {
			continue
		}
		v := reflect.ValueOf(*r)
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "place" && v.Field(i).IsZero() {
				t.Errorf("query %v: no function %s", query, name)
			}
		}
	}
}
