package main

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// cpu returns the processor time of this process in seconds.
func cpu() float64 {
	user, system := times()
	return user + system
}

// user returns the part of cpu outside the kernel.
func user() float64 {
	user, _ := times()
	return user
}

func times() (user, system float64) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err)
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime), seconds(usage.Stime)
}

// megabytes returns a line of /proc/self/status, such as VmHWM, the largest resident size so far.
func megabytes(name string) float64 {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		fail(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if rest, found := strings.CutPrefix(lines.Text(), name+":"); found {
			kilobytes, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kilobytes / 1024
		}
	}
	return 0
}

// heap returns the bytes of the live heap.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// forgetPeak makes VmHWM the present resident size.
func forgetPeak() error {
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// connections returns the number of established TCP connections of this process.
func connections() (int, error) {
	established := map[string]bool{}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for _, line := range strings.Split(string(text), "\n") {
			// The fourth field is the state, 01 for established; the tenth is the inode of the socket.
			if fields := strings.Fields(line); len(fields) > 9 && fields[3] == "01" {
				established["socket:["+fields[9]+"]"] = true
			}
		}
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0, err
	}
	count := 0
	for _, file := range files {
		// The folder that is being read is one of the files, and is closed by now.
		target, _ := os.Readlink("/proc/self/fd/" + file.Name())
		if established[target] {
			count++
		}
	}
	return count, nil
}
