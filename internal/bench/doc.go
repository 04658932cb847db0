// Package bench measures Holdfast beside what it is compared with, on one
// machine in one run, and reports ratios: these machines are noisy, so one
// absolute time means nothing, and a median of alternating rounds means
// something.
package bench
