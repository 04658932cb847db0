package httpapi

import (
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

func encodeProgress(p migration.Progress) MigrationProgress {
	encoded := MigrationProgress{
		At: p.At.UTC(), Total: encodeCounters(p.Total), Left: encodeLeft(p.Left), Deferred: p.Deferred,
		Pace5Minutes: encodePace(p.Pace5), Pace60Minutes: encodePace(p.Pace60),
		Collections: encodeAll(p.Collections, encodeCollectionProgress), Awaited: orEmpty(p.Awaited),
		Reasons: encodeAll(p.Reasons, func(r migration.Reason) MigrationReason {
			return MigrationReason{Code: string(r.Code), Text: r.Text(), Detail: textOrNil(r.Detail)}
		}),
		Next:     MigrationNext{Code: string(p.Next), Text: p.Next.Text()},
		PausedBy: textOrNil(p.PausedBy),
	}
	if p.Remaining != nil {
		seconds := int64(wholeSeconds(*p.Remaining))
		encoded.RemainingSeconds = &seconds
	}
	if p.Run != nil {
		run := encodeRun(*p.Run)
		encoded.Run = &run
	}
	return encoded
}

func encodeCollectionProgress(c migration.CollectionProgress) MigrationCollection {
	return MigrationCollection{
		Collection: c.Collection, CollectionID: c.CollectionID.String(), PlanHash: c.PlanHash.String(), Build: c.Build, Held: c.Held,
		Frontier: c.Frontier, Sweep: c.Sweep, Moved: encodeCounters(c.Counters), Left: encodeLeft(c.Left), Deferred: c.Deferred,
		ActivatedAt: c.ActivatedAt.UTC(), MovedAt: c.MovedAt.UTC(), DrainedAt: utcOrNil(&c.DrainedAt), ClosedAt: utcOrNil(&c.ClosedAt),
	}
}

func encodeCounters(c migration.Counters) MigrationCounters {
	return MigrationCounters{
		Passes: c.Passes, Inspected: c.Inspected, Records: c.Moved, Bodies: c.Bodies, Bytes: c.Bytes,
		Uploads: c.Uploads, Reuses: c.Reuses, Raced: c.Raced, Retries: c.Retries,
	}
}

func encodeLeft(l migration.Left) MigrationLeft {
	return MigrationLeft{Records: l.Records, Sections: l.Sections, Whole: l.Whole}
}

func encodePace(p *migration.Pace) *MigrationPace {
	if p == nil {
		return nil
	}
	return &MigrationPace{RecordsPerSecond: p.Records, BytesPerSecond: p.Bytes}
}
