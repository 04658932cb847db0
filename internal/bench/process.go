package bench

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
)

// Lines of Linux's account of a process.
var (
	residentNow = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)
	residentTop = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)
)

// usage is what the system knows of a process, by its id.
type usage int

// resident is how many bytes it has in memory; 0 where the system doesn't tell.
func (p usage) resident() int64 { return p.memory(residentNow) }

// peak is how many it has had at most, since its start or since forgetPeak.
func (p usage) peak() int64 { return p.memory(residentTop) }

func (p usage) memory(line *regexp.Regexp) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
	if err != nil {
		return 0
	}
	found := line.FindSubmatch(status)
	if found == nil {
		return 0
	}
	kilobytes, _ := strconv.ParseInt(string(found[1]), 10, 64)
	return kilobytes << 10
}

// forgetPeak has the peak begin anew with what is resident now (proc(5),
// clear_refs). Where the system can't, the peak stays that since the start.
func (p usage) forgetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p), []byte("5"), 0)
}

// ticks are the hundredths of a second in which Linux counts a process's time
// (proc(5), stat), on every architecture that Go knows.
const ticks = 100

// cpu is how many seconds of processors it has taken; NaN where the system
// doesn't tell.
func (p usage) cpu() float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	if err != nil {
		return math.NaN()
	}
	// The second field, the program's name in parentheses, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const user, system = 14 - 3, 15 - 3 // of those behind it
	if len(fields) <= system {
		return math.NaN()
	}
	u, _ := strconv.ParseFloat(string(fields[user]), 64)
	k, _ := strconv.ParseFloat(string(fields[system]), 64)
	return (u + k) / ticks
}
