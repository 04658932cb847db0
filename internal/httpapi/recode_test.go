package httpapi

import (
	"encoding"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// What the API calls a document of the domain has every member of it, and no other.
func TestRecode_LosesNothing(t *testing.T) {
	t.Parallel()
	recodes[migration.Packet, MigrationPacket](t)
	recodes[migration.Observations, MigrationObservations](t)
	recodes[migration.Qualification, QualificationReport](t)
	recodes[migration.VerificationReport, VerificationReport](t)
	recodes[migration.Verdict, VerificationVerdict](t)
	recodes[migration.ScrubFinding, ScrubFinding](t)
	recodes[migration.ReadCollection, ReadCollection](t)
	recodes[migration.RecordName, RecordName](t)
}

func recodes[From, To any](t *testing.T) {
	t.Helper()
	var from From
	n := 0
	fill(reflect.ValueOf(&from).Elem(), &n)
	to, err := recode[To](from)
	if err != nil {
		t.Errorf("%T: %v", from, err)
		return
	}
	back, err := recode[From](to)
	if err != nil {
		t.Errorf("%T: %v", to, err)
		return
	}
	if diff := cmp.Diff(from, back); diff != "" {
		t.Errorf("%T by way of %T (-want +got):\n%s", from, to, diff)
	}
	text, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &from, json.RejectUnknownMembers(true)); err != nil {
		t.Errorf("%T has more than %T: %v", to, from, err)
	}
}

// fill gives every part of a value another value, and none the zero one.
func fill(v reflect.Value, n *int) {
	*n++
	if _, is := v.Addr().Interface().(encoding.TextUnmarshaler); is && v.Kind() == reflect.Array {
		v.Index(0).SetUint(uint64(*n%255 + 1))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMicro(int64(*n)).UTC()))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.String:
		v.SetString("text " + strconv.Itoa(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	default:
		v.SetInt(int64(*n))
	}
}

// A document whose lists are nil has empty ones in an answer, which demands them.
func TestRecode_NilListsAreEmptyOnes(t *testing.T) {
	t.Parallel()
	packet, err := recode[MigrationPacket](migration.Packet{})
	if err != nil || packet.Databases == nil || packet.Lifecycle == nil || packet.Scope == nil || packet.StopRules == nil {
		t.Errorf("%+v, %v", packet, err)
	}
	points, err := recodeAll[RecordName]([]migration.RecordName(nil))
	if err != nil || points == nil {
		t.Errorf("%#v, %v", points, err)
	}
}
