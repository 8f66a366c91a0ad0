package redis

import (
	"embed"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// sources holds the scripts, whose first comments describe purpose, arguments and results.
// Constants of Go are passed in ARGV.
//
//go:embed *.lua
var sources embed.FS

var (
	publishScript   = script("publish")
	announceScript  = script("base", "announce")
	heartbeatScript = script("base", "heartbeat")
	liveScript      = script("base", "live")
	leaseScript     = script("base", "reservations", "lease")
	roomsScript     = script("base", "reservations", "rooms")
	dropScript      = script("drop")
	beatScript      = script("base", "beat")
	openScript      = script("base", "open")
	grantScript     = script("base", "grant")
	clickScript     = script("click")
	flagScript      = script("flags")
	confirmScript   = script("confirm")
	markScript      = script("mark")
)

// script concatenates files without their comments: an embedded server compiles a script on every
// call.
func script(files ...string) *goredis.Script {
	var text strings.Builder
	for _, name := range files {
		source, err := sources.ReadFile(name + ".lua")
		if err != nil {
			panic(err) // the file is not part of the binary
		}
		for line := range strings.Lines(string(source)) {
			if strings.HasPrefix(strings.TrimSpace(line), "--") {
				line = "\n"
			}
			text.WriteString(line)
		}
	}
	return goredis.NewScript(text.String())
}
