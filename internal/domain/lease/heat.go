package lease

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Band says how busy a world is.
type Band string

const (
	BandNone    Band = "none"
	BandWarning Band = "warning"
	BandHot     Band = "hot"
)

// What the coordinator advises, in the journal.
const (
	AdviseSpill    = "spill"    // take the world over: it is hot, and the coordinator holds
	AdviseHandback = "handback" // hand it back: it has been calm for calmFor, and a node holds
)

const (
	warningRate = 200.0                 // appended entries a second
	warningWait = 50 * time.Millisecond // of an append until it is committed, on average
	hotTimes    = 5                     // as much of either is hot
	// leastRate is in appended entries a second. The mean wait of fewer says little,
	// and nothing would be gained by taking such a world over.
	leastRate = 1.0

	heatWindow = time.Minute // that a band is judged by, at least
	calmFor    = time.Hour   // until a handback is advised, and the world is no longer watched
)

// Heat is how busy a world has been.
type Heat struct {
	World      string
	Band       Band
	Since      time.Time     // of the band; zero for a world that has been calm for longer than anybody watched
	Rate       float64       // appended entries a second
	Wait       time.Duration // of an append from its arrival until it was committed, on average
	MeasuredAt time.Time     // the end of the time that rate and wait are of; zero for none
	Advice     string        // AdviseSpill or AdviseHandback, "" for none
}

// bandOf judges a time of heatWindow or longer.
func bandOf(rate float64, wait time.Duration) Band {
	if rate < leastRate {
		return BandNone
	}
	switch {
	case rate >= hotTimes*warningRate || wait >= hotTimes*warningWait:
		return BandHot
	case rate >= warningRate || wait >= warningWait:
		return BandWarning
	}
	return BandNone
}

const sqlReadHeat = `
SELECT h.band, h.since, h.rate, h.mean_wait_us, h.measured_at FROM world_heat h
 WHERE h.tenant_id = $1 AND h.number = $2 AND h.world_id = $3`

// Heat tells how busy a world has been, as of the last minute or two.
//
// Errors: not found, unavailable.
func (s *Service) Heat(ctx context.Context, scope tenancy.Scope, world string) (Heat, error) {
	ref, err := refOf(world)
	if err != nil {
		return Heat{}, errNoWorld
	}
	var found *head
	var now time.Time
	heat := Heat{World: world, Band: BandNone}
	e := s.entry(scope.Tenant, ref.number)
	e.ReadOnly = true
	err = tenancy.Run(ctx, s.router.Database(ref.number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		queueReadHead(tx, ref, &found)
		tx.Queue(sqlReadHeat, int16(ref.number), ref.id).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var wait int64
				if err := rows.Scan(&heat.Band, &heat.Since, &heat.Rate, &wait, &heat.MeasuredAt); err != nil {
					return err
				}
				heat.Wait = time.Duration(wait) * time.Microsecond
				heat.Since, heat.MeasuredAt = heat.Since.UTC(), heat.MeasuredAt.UTC()
			}
			return rows.Err()
		})
		tx.QueueNow(&now)
		return nil
	})
	switch {
	case err != nil:
		return Heat{}, err
	case found == nil || found.Retired:
		return Heat{}, errNoWorld
	}
	heat.advise(&locked{head: *found, now: later(now, found.LastAt)})
	return heat, nil
}

// advise tells what there is to say to whoever holds the world now, whether or not
// the journal has said so yet.
func (h *Heat) advise(w *locked) {
	hosted := w.Holder.IsCoordinator() || w.over()
	calm := h.Band == BandNone && (h.Since.IsZero() || w.now.Sub(h.Since) >= calmFor)
	switch {
	case !w.policy.AdviseSpill:
	case hosted && h.Band == BandHot:
		h.Advice = AdviseSpill
	case !hosted && calm:
		h.Advice = AdviseHandback
	}
}

// advise journals an advice, if the world's policy wants any and it is one for
// whoever holds. Once tells what is written with it, so that it is given once.
func (w *locked) advise(band Band, advise string, once func(tx *tenancy.Tx)) (given bool) {
	spill := advise == AdviseSpill
	if !w.policy.AdviseSpill || w.Holder.IsCoordinator() != spill {
		return false
	}
	w.note(journal.KindAdvice, w.Epoch, journal.Coordinator, journal.Advice{Band: string(band), Advise: advise})
	w.beside = append(w.beside, once)
	return true
}
