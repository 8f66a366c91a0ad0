package load

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
)

// bar is the progress of one step; without an output it does nothing.
type bar struct{ display *progressbar.ProgressBar }

func (l *Load) bar(what string, total int) *bar {
	if l.deps.Progress == nil || !l.cfg.Progress && !isTerminal(l.deps.Progress) {
		return &bar{}
	}
	return &bar{progressbar.NewOptions(total,
		progressbar.OptionSetWriter(l.deps.Progress), progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond),
	)}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// add and end ignore errors of the terminal: progress is never worth failing a run.
func (b *bar) add(n int) {
	if b.display != nil && n > 0 {
		_ = b.display.Add(n)
	}
}

func (b *bar) end() {
	if b.display != nil {
		_ = b.display.Exit()
	}
}
