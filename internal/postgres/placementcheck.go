package postgres

import (
	"context"
	"fmt"
)

// CheckPlacement refuses a placement that disagrees with the gates: each number
// must be on the database that it is placed on, and open on no other. A number
// closed where it is placed is well, since that is maintenance. The error says
// what is where, as a PlacementError. The processes that serve call it at start, after CheckSchema:
// what is placed wrongly would be refused for as long as they run.
func CheckPlacement(ctx context.Context, router *Router) error {
	gates, err := readAllGates(ctx, router)
	if err != nil {
		return err
	}
	missing, faults := CompareNumbers(router.Databases(), gates)
	for _, db := range router.Databases() {
		if numbers := missing[db.Name]; len(numbers) > 0 {
			faults = append(faults, fmt.Errorf("on no configured database, and placed on %s: the numbers %s", db.Name, FormatNumbers(numbers)))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return PlacementError{joinFaults(faults)}
}

// PlacementError is a placement that the databases deny.
type PlacementError struct{ Faults error }

func (e PlacementError) Error() string {
	return fmt.Sprintf("the placement disagrees with the databases: %v: correct HOLDFAST_DATA_URLS or HOLDFAST_PLACEMENT "+
		"(holdfast schema status tells what is where, holdfast schema up opens the numbers of a new installation)", e.Faults)
}

func (e PlacementError) Unwrap() error { return e.Faults }

// joinFaults is errors.Join on one line, as a log's entry wants it.
func joinFaults(faults []error) error {
	joined := faults[0]
	for _, fault := range faults[1:] {
		joined = fmt.Errorf("%w; %w", joined, fault)
	}
	return joined
}

// readAllGates are the gates of every data database, by its name.
func readAllGates(ctx context.Context, router *Router) (map[string][]Gate, error) {
	gates := map[string][]Gate{}
	for _, db := range router.Databases() {
		found, err := ReadGates(ctx, db.Pool)
		if err != nil {
			return nil, fmt.Errorf("data database %s: %w", db.Name, err)
		}
		gates[db.Name] = found
	}
	return gates, nil
}
