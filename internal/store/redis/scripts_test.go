package redis

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
)

// The values of keys in a case. In each text <now>, <now+30s> and the like stand for a time of
// Redis in ms, and <day> for the day that budgets are of.
type (
	hash    map[string]string
	sorted  map[string]string // member by score
	list    []string
	channel []string // what subscribers are told
)

// db is what Redis has, by key: a string, hash, sorted or list.
type db map[string]any

// call is one call of a script and what comes of it.
type call struct {
	name     string
	listed   db
	keys     []string
	argv     []any
	reply    any      // lists are []any, numbers int64 and large ones, which are differences of clocks, a duration
	after    db       // all keys, nil for those given
	expires  []string // keys with a life
	reported channel  // on the channel "changes"
}

// Each script, from its keys and arguments to its reply and the keys after it, on both servers.
func TestScripts(t *testing.T) {
	for name, table := range scriptTables() {
		t.Run(name, func(t *testing.T) {
			onEveryRedis(t, func(t *testing.T, client *Client) {
				for _, c := range table.calls {
					t.Run(c.name, func(t *testing.T) { c.run(t, client, table.script) })
				}
			})
		})
	}
}

func TestEveryScriptHasATable(t *testing.T) {
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	tables := scriptTables()
	shared := []string{"base", "reservations"} // which others begin with
	for _, file := range files {
		name, lua := strings.CutSuffix(file.Name(), ".lua")
		if !lua || slices.Contains(shared, name) {
			continue
		}
		require.NotEmpty(t, tables[name].calls, name)
	}
}

func (c call) run(t *testing.T, client *Client, script *goredis.Script) {
	empty(t, client)
	now := time.Now()
	p := client.cfg.Prefix + ":"
	expand := func(text string) string { return expandTimes(text, now) }
	for key, value := range c.listed {
		put(t, client, p+key, value, expand)
	}
	listening := client.rdb.Subscribe(t.Context(), p+"changes")
	defer listening.Close()
	_, err := listening.Receive(t.Context())
	require.NoError(t, err)

	argv := slices.Clone(c.argv)
	for i := range argv {
		if text, ok := argv[i].(string); ok {
			if argv[i] = expand(text); text == "changes" {
				argv[i] = p + text
			}
		}
	}
	keys := slices.Clone(c.keys)
	for i := range keys {
		keys[i] = p + keys[i]
	}
	reply, err := script.Run(t.Context(), client.rdb, keys, argv...).Result()
	require.NoError(t, err)
	require.Equal(t, c.reply, shorten(reply, now))

	want := c.after
	if want == nil {
		want = c.listed
	}
	got, expires := dump(t, client, now)
	require.Equal(t, shortenDB(want, now), got)
	require.ElementsMatch(t, c.expires, expires)
	require.NoError(t, client.rdb.Publish(t.Context(), p+"changes", "end").Err())
	var reported channel
	for {
		m, err := listening.ReceiveMessage(t.Context())
		require.NoError(t, err)
		if m.Payload == "end" {
			break
		}
		reported = append(reported, m.Payload)
	}
	require.Equal(t, c.reported, reported)
}

func put(t *testing.T, client *Client, key string, value any, expand func(string) string) {
	t.Helper()
	switch v := value.(type) {
	case string:
		require.NoError(t, client.rdb.Set(t.Context(), key, expand(v), 0).Err())
	case hash:
		for field, text := range v {
			require.NoError(t, client.rdb.HSet(t.Context(), key, field, expand(text)).Err())
		}
	case list:
		for _, item := range v {
			require.NoError(t, client.rdb.RPush(t.Context(), key, expand(item)).Err())
		}
	case sorted:
		for member, score := range v {
			n, err := strconv.ParseFloat(expand(score), 64)
			require.NoError(t, err)
			require.NoError(t, client.rdb.ZAdd(t.Context(), key, goredis.Z{Score: n, Member: member}).Err())
		}
	}
}

// dump is everything with the prefix of the client, with the prefix cut off and times as in a case.
func dump(t *testing.T, client *Client, now time.Time) (got db, expires []string) {
	t.Helper()
	got = db{}
	for _, full := range client.rdb.Keys(t.Context(), client.cfg.Prefix+":*").Val() {
		key := strings.TrimPrefix(full, client.cfg.Prefix+":")
		switch kind := client.rdb.Type(t.Context(), full).Val(); kind {
		case "string":
			got[key] = client.rdb.Get(t.Context(), full).Val()
		case "hash":
			got[key] = hash(client.rdb.HGetAll(t.Context(), full).Val())
		case "list":
			got[key] = list(client.rdb.LRange(t.Context(), full, 0, -1).Val())
		case "zset":
			set := sorted{}
			for _, z := range client.rdb.ZRangeWithScores(t.Context(), full, 0, -1).Val() {
				set[z.Member.(string)] = strconv.FormatFloat(z.Score, 'f', 0, 64)
			}
			got[key] = set
		default:
			require.Fail(t, "a key of kind "+kind)
		}
		if client.rdb.PTTL(t.Context(), full).Val() > 0 {
			expires = append(expires, key)
		}
	}
	return shortenDB(got, now), expires
}

var timeInText = regexp.MustCompile(`<now([+-]\d+s)?>`)

func today(now time.Time) string {
	return strconv.Itoa(int(day.Of(now.Add(-2 * reserve.MaxClockSkew))))
}

func expandTimes(text string, now time.Time) string {
	text = strings.ReplaceAll(text, "<day>", today(now))
	return timeInText.ReplaceAllStringFunc(text, func(found string) string {
		by, _ := time.ParseDuration(strings.Trim(strings.TrimPrefix(found, "<now"), "+>"))
		return strconv.FormatInt(now.Add(by).UnixMilli(), 10)
	})
}

// shorten makes times within a quarter of an hour of now what they are in a case, in steps of 30 s,
// so that it does not matter how long a call takes.
func shorten(value any, now time.Time) any {
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = shorten(v[i], now)
		}
		return list
	case string:
		ms, err := strconv.ParseInt(v, 10, 64)
		by := time.UnixMilli(ms).Sub(now).Round(30 * time.Second)
		if err != nil || by.Abs() > 15*time.Minute {
			return v
		}
		if by == 0 {
			return "<now>"
		}
		return fmt.Sprintf("<now%+.0fs>", by.Seconds())
	case int64: // a difference of clocks
		if v > 1e12 {
			return "<long>" // since 1970
		}
		if v < -10_000 || v > 10_000 {
			return (time.Duration(v) * time.Millisecond).Round(30 * time.Second)
		}
		return v
	default:
		return value
	}
}

func shortenDB(all db, now time.Time) db {
	short := func(m map[string]string) map[string]string {
		out := make(map[string]string, len(m))
		for k, v := range m {
			out[k] = shorten(expandTimes(v, now), now).(string)
		}
		return out
	}
	out := make(db, len(all))
	for key, value := range all {
		switch v := value.(type) {
		case string:
			out[key] = shorten(expandTimes(v, now), now)
		case hash:
			out[key] = hash(short(v))
		case list:
			out[key] = v
		case sorted:
			out[key] = sorted(short(v))
		}
	}
	return out
}

// with is given with some keys changed; nil removes one.
func with(listed, changed db) db {
	all := maps.Clone(listed)
	for key, value := range changed {
		if all[key] = value; value == nil {
			delete(all, key)
		}
	}
	return all
}

type scriptTable struct {
	script *goredis.Script
	calls  []call
}

func scriptTables() map[string]scriptTable {
	return map[string]scriptTable{
		"publish": {publishScript, publishCalls()}, "announce": {announceScript, announceCalls()},
		"heartbeat": {heartbeatScript, heartbeatCalls()}, "live": {liveScript, liveCalls()},
		"beat": {beatScript, beatCalls()}, "open": {openScript, openCalls()}, "grant": {grantScript, grantCalls()},
		"rooms": {roomsScript, roomsCalls()}, "drop": {dropScript, dropCalls()},
		"lease": {leaseScript, leaseCalls()}, "click": {clickScript, clickCalls()},
		"confirm": {confirmScript, confirmCalls()},
		"flags":   {flagScript, flagCalls()}, "mark": {markScript, markCalls()},
	}
}

func markCalls() []call {
	both := []string{"m", "n"}
	arguments := []any{"k", "mark", 3, 4, 2, 6, 60}
	return []call{
		{
			name: "the first", keys: both, argv: arguments, reply: int64(1),
			after: db{"m": list{"mark"}, "n": hash{"k": "1"}}, expires: both,
		},
		{
			name: "a key that has as many as it may", listed: db{"m": list{"a", "b", "c"}, "n": hash{"k": "3"}},
			keys: both, argv: arguments,
			reply: int64(0),
		},
		{
			name:   "a crowded hour, and a key that has its share",
			listed: db{"m": list{"a", "b", "c", "d"}, "n": hash{"k": "2", "l": "2"}}, keys: both,
			argv: arguments, reply: int64(0),
		},
		{
			name:   "a crowded hour, and a key that has little",
			listed: db{"m": list{"a", "b", "c", "d"}, "n": hash{"k": "1", "l": "3"}}, keys: both,
			argv: arguments, reply: int64(1),
			after: db{"m": list{"a", "b", "c", "d", "mark"}, "n": hash{"k": "2", "l": "3"}}, expires: both,
		},
		{
			name: "a full hour", listed: db{"m": list{"a", "b", "c", "d", "e", "f"}, "n": hash{"l": "6"}}, keys: both,
			argv:  arguments,
			reply: int64(0),
		},
	}
}

func flagCalls() []call {
	keys := []string{"f", "all"}
	arguments := func(flags ...any) []any { return append([]any{"p", "<now>", 1000, 2, "(other)"}, flags...) }
	both := []string{"f", "all"}
	return []call{
		{
			name: "the first", keys: keys, argv: arguments("x", 1), reply: int64(1),
			after: db{"f": hash{"x": "1 <now>"}, "all": sorted{"p": "<now>"}}, expires: both,
		},
		{
			name: "again", listed: db{"f": hash{"x": "4 <now-1s>"}, "all": sorted{"p": "<now-1s>", "old": "<now-2s>"}},
			keys: keys,
			argv: []any{"p", "<now>", 2000, 2, "(other)", "x", 3}, reply: int64(1),
			after: db{"f": hash{"x": "7 <now>"}, "all": sorted{"p": "<now>"}}, expires: both,
		},
		{
			name: "more names than are kept", listed: db{"f": hash{"x": "4 <now>"}}, keys: keys,
			argv: arguments("y", 1, "z", 2, "x", 1, "w", 5), reply: int64(3),
			after:   db{"f": hash{"x": "5 <now>", "y": "1 <now>", "(other)": "7 <now>"}, "all": sorted{"p": "<now>"}},
			expires: both,
		},
		{
			name:   "a name that did not come for long makes room",
			listed: db{"f": hash{"x": "4 <now-2s>", "y": "1 <now>"}}, keys: keys, argv: arguments("z", 2),
			reply: int64(2),
			after: db{"f": hash{"y": "1 <now>", "z": "2 <now>"}, "all": sorted{"p": "<now>"}}, expires: both,
		},
	}
}

func publishCalls() []call {
	keys := []string{"objects", "versions", "head", "epoch"}
	full := db{"objects": hash{"a": `{"n":1}`}, "versions": sorted{"a": "7"}, "head": "7", "epoch": "e"}
	return []call{
		{
			name: "a new catalog", keys: keys, argv: []any{"changes", "", "e", "", "a", 7, `{"n":1}`}, reply: "e",
			after: with(full, db{"head": nil}), reported: channel{`{"campaign":{"n":1}}`},
		},
		{
			name: "newer, and the head", listed: full, keys: keys,
			argv: []any{"changes", "e", "other", "9", "a", 9, `{"n":2}`, "b", 8, `{"n":3}`}, reply: "e",
			after: db{
				"objects": hash{"a": `{"n":2}`, "b": `{"n":3}`}, "versions": sorted{"a": "9", "b": "8"}, "head": "9",
				"epoch": "e",
			},
			reported: channel{`{"campaign":{"n":2}}`, `{"campaign":{"n":3}}`},
		},
		{name: "older", listed: full, keys: keys, argv: []any{"changes", "e", "", "6", "a", 6, `{}`}, reply: "e"},
		{
			name: "equal, under another seal", listed: full, keys: keys,
			argv: []any{"changes", "e", "", "6", "a", 7, `{"seal":2}`}, reply: "e",
			after: with(full, db{"objects": hash{"a": `{"seal":2}`}}),
		},
		{
			name: "of another catalog", listed: full, keys: keys, argv: []any{"changes", "f", "g", "9", "a", 9, `{}`},
			reply: "",
		},
		{
			name: "of a lost catalog", keys: keys, argv: []any{"changes", "f", "g", "9", "a", 9, `{}`}, reply: "",
			after: db{},
		},
	}
}

func announceCalls() []call {
	keys := []string{"objects", "versions", "head", "nodes"}
	full := db{
		"objects": hash{"a": "{}"}, "versions": sorted{"a": "7"}, "head": "7",
		"nodes": sorted{"live": "<now>", "gone": "<now-120s>"},
	}
	reported := channel{`{"campaign":{"n":2},"confirm":true}`}
	return []call{
		{
			name: "the next version", listed: full, keys: keys, argv: []any{"changes", "a", 8, `{"n":2}`, 60_000},
			reply:    []any{"live"},
			after:    with(full, db{"objects": hash{"a": `{"n":2}`}, "versions": sorted{"a": "8"}, "head": "8"}),
			reported: reported,
		},
		{
			name: "not the next", listed: full, keys: keys, argv: []any{"changes", "a", 9, `{"n":2}`, 600_000},
			reply: []any{"gone", "live"},
			after: with(full, db{"objects": hash{"a": `{"n":2}`}, "versions": sorted{"a": "9"}}), reported: reported,
		},
		{
			name: "older", listed: full, keys: keys, argv: []any{"changes", "a", 6, `{"n":2}`, 60_000},
			reply: []any{"live"}, reported: reported,
		},
		{
			name: "without a catalog", keys: keys, argv: []any{"changes", "a", 6, `{"n":2}`, 60_000}, reply: []any{},
			after: db{"objects": hash{"a": `{"n":2}`}, "versions": sorted{"a": "6"}}, reported: reported,
		},
	}
}

func heartbeatCalls() []call {
	keys := []string{"nodes", "applied"}
	return []call{
		{
			name: "the first", keys: keys, argv: []any{"n", 3, 60_000}, reply: int64(1),
			after: db{"nodes": sorted{"n": "<now>"}, "applied": hash{"n": "3"}},
		},
		{
			name: "others are silent and long gone",
			listed: db{
				"nodes":   sorted{"n": "<now-300s>", "silent": "<now-30s>", "gone": "<now-90s>"},
				"applied": hash{"n": "3", "silent": "2", "gone": "1"},
			},
			keys: keys, argv: []any{"n", 4, 60_000}, reply: int64(1),
			after: db{"nodes": sorted{"n": "<now>", "silent": "<now-30s>"}, "applied": hash{"n": "4", "silent": "2"}},
		},
	}
}

func liveCalls() []call {
	keys := []string{"nodes", "applied"}
	return []call{
		{name: "no nodes", keys: keys, argv: []any{60_000}, reply: []any{}, after: db{}},
		{
			name: "some",
			listed: db{
				"nodes":   sorted{"new": "<now>", "n": "<now-30s>", "gone": "<now-90s>"},
				"applied": hash{"n": "3", "gone": "1"},
			},
			keys: keys, argv: []any{60_000}, reply: []any{"n", "3", "new", "0"},
		},
	}
}

func openCalls() []call {
	keys := []string{"state"}
	opened := db{"state": hash{"epoch": "5", "opens": "7", "beat": "<now>"}}
	return []call{
		{name: "empty", keys: keys, argv: []any{5, 7}, reply: "5", after: opened},
		{
			name: "after an older", listed: db{"state": hash{"epoch": "4", "opens": "1", "beat": "1"}}, keys: keys,
			argv: []any{5, 7}, reply: "5", after: opened,
		},
		{
			name: "again", listed: db{"state": hash{"epoch": "5", "opens": "1", "beat": "1"}}, keys: keys,
			argv: []any{5, 7}, reply: "5",
		},
		{
			name: "a later one holds", listed: db{"state": hash{"epoch": "10", "opens": "1", "beat": "1"}}, keys: keys,
			argv: []any{9, 7}, reply: "10",
		},
	}
}

func grantCalls() []call {
	keys := []string{"state"}
	listed := db{"state": hash{"epoch": "5", "opens": "9", "beat": "1"}}
	return []call{
		{
			name: "the epoch that holds", listed: listed, keys: keys, argv: []any{5}, reply: int64(1),
			after: db{"state": hash{"epoch": "5", "opens": "<now>", "beat": "1"}},
		},
		{name: "another", listed: listed, keys: keys, argv: []any{4}, reply: int64(0)},
		{name: "none", keys: keys, argv: []any{5}, reply: int64(0), after: db{}},
	}
}

func beatCalls() []call {
	keys := []string{"state", "seen"}
	listed := db{"state": hash{"epoch": "5", "opens": "1", "beat": "1"}, "seen": hash{"p": "3"}}
	return []call{
		{name: "empty", keys: keys, argv: []any{5, "p", 1, 0, 60_000}, reply: "0", after: db{}},
		{
			name: "at work", listed: listed, keys: keys, argv: []any{5, "p", 4, 3, 60_000}, reply: "5",
			expires: []string{"seen"},
			after:   db{"state": hash{"epoch": "5", "opens": "1", "beat": "<now>"}, "seen": hash{"p": "4"}},
		},
		{
			name: "another projector", listed: listed, keys: keys, argv: []any{5, "q", 1, 0, 60_000}, reply: "5",
			expires: []string{"seen"},
			after:   db{"state": hash{"epoch": "5", "opens": "1", "beat": "<now>"}, "seen": hash{"p": "3", "q": "1"}},
		},
		{name: "a later epoch holds", listed: listed, keys: keys, argv: []any{4, "p", 4, 3, 60_000}, reply: "5"},
		{
			name: "an older epoch", listed: listed, keys: keys, argv: []any{6, "p", 4, 3, 60_000}, reply: "0",
			after: with(listed, db{"state": nil}),
		},
		{
			name: "an old dump", listed: listed, keys: keys, argv: []any{5, "p", 9, 8, 60_000}, reply: "0",
			after: with(listed, db{"state": nil}),
		},
	}
}

func clickCalls() []call {
	keys := []string{"net", "address", "reader"}
	listed := db{"net": sorted{"a": "1000", "b": "61000"}, "address": sorted{"b": "61000"}}
	args := func(at int, auction string, network, address int) []any {
		return []any{at, auction, 600_000, network, address, 1, 1, 60_000, 2, 600_000}
	}
	return []call{
		{
			name: "the first", keys: keys, argv: args(1000, "a", 4, 2), reply: int64(1),
			after:   db{"net": sorted{"a": "1000"}, "address": sorted{"a": "1000"}, "reader": sorted{"a": "1000"}},
			expires: keys,
		},
		{name: "again", listed: listed, keys: keys, argv: args(61_500, "a", 1, 1), reply: int64(1)},
		{name: "too soon for the network", listed: listed, keys: keys, argv: args(120_999, "c", 1, 2), reply: int64(0)},
		{name: "too soon for the address", listed: listed, keys: keys, argv: args(120_999, "c", 4, 1), reply: int64(0)},
		{
			name: "too soon for the reader", listed: with(listed, db{"reader": sorted{"b": "61000"}}), keys: keys,
			argv: args(120_999, "c", 4, 2), reply: int64(0),
		},
		{
			name: "another reader", listed: listed, keys: keys, argv: args(120_999, "c", 4, 2), reply: int64(1),
			after: db{
				"net":     sorted{"a": "1000", "b": "61000", "c": "120999"},
				"address": sorted{"b": "61000", "c": "120999"}, "reader": sorted{"c": "120999"},
			},
			expires: keys,
		},
		{
			name: "too many of the longer window", listed: listed, keys: keys, argv: args(200_000, "c", 1, 4),
			reply: int64(0),
		},
		{
			name: "after both", listed: listed, keys: keys, argv: args(601_000, "c", 1, 1), reply: int64(1),
			after: db{
				"net":     sorted{"b": "61000", "c": "601000"},
				"address": sorted{"b": "61000", "c": "601000"}, "reader": sorted{"c": "601000"},
			},
			expires: keys,
		},
	}
}

func confirmCalls() []call {
	listed := db{"session": hash{"a": "value\x00", "b": "value\x00", "c": "value\x01"}}
	return []call{
		{
			name: "decided, confirmed, unknown", listed: listed, keys: []string{"session"}, argv: []any{"a", "c", "d"},
			reply: int64(1), after: db{"session": hash{"a": "value\x01", "b": "value\x00", "c": "value\x01"}},
		},
		{name: "of a session that is gone", keys: []string{"session"}, argv: []any{"a"}, reply: int64(1), after: db{}},
	}
}

// reserving are the arguments that scripts of reservations begin with: minutes, ms, ms.
var reserving = []any{65, 60_000, 1000}

func roomsCalls() []call {
	keys := []string{"rooms", "state", "c", "adv"}
	argv := func(more ...any) []any { return append(append(slices.Clone(reserving), "changes"), more...) }
	// At minute 1000 a node holds 50 of this minute, and 30 of one that is past its window.
	held := db{
		"rooms": hash{"a": `9|{"n":1}`}, "state": hash{"epoch": "5", "opens": "1", "beat": "60000000"},
		"c": hash{
			"g:1000:60": "50", "g:900:5": "30", "g:980:5": "20", "out": "50", "counted": "50", "at": "1000",
			"limited": "1",
		}, "adv": hash{"out": "70"},
	}
	return []call{
		{
			name: "the first", keys: keys, argv: argv("<day>", "a", 9, `{"n":1}`, 0, 0), reply: []any{},
			after: db{"rooms": hash{"a": `9|{"n":1}`}}, reported: channel{`{"rooms":[{"n":1}]}`},
		},
		{
			name: "of a past day", listed: held, keys: keys, argv: argv(1, "a", 99, `{"n":2}`, 0, 1, 1000, 7),
			reply: []any{"past"},
		},
		{
			name: "equal, under another seal", listed: with(held, db{"c": nil}), keys: keys,
			argv: argv("<day>", "a", 9, `{"seal":2}`, 0, 0), reply: []any{},
			after: with(held, db{"rooms": hash{"a": `9|{"seal":2}`}, "c": nil}),
		},
		{
			name: "newer, with what was released", listed: held, keys: keys,
			argv: argv("<day>", "a", 10, `{"n":2}`, 1, 2, 1000, 7, 980, 3), reply: []any{},
			after: db{
				"rooms": hash{"a": `10|{"n":2}`}, "state": held["state"],
				"c": hash{
					"g:1000:60": "50", "s:1000": "7", "g:980:5": "20", "s:980": "3", "out": "43", "counted": "43",
					"at": "1000", "limited": "1",
				},
				"adv": hash{"out": "63"},
			},
			expires: []string{"c", "adv"}, reported: channel{`{"rooms":[{"n":2}]}`},
		},
		{
			name: "older room, and less released than is known",
			listed: with(
				held,
				db{"c": hash{
					"g:1000:60": "50", "s:1000": "7", "out": "43", "counted": "43", "at": "999", "limited": "1",
				}},
			),
			keys: keys, argv: argv("<day>", "a", 8, `{"n":2}`, 1, 1, 1000, 6), reply: []any{"a"}, expires: []string{"c"},
			after: with(
				held,
				db{"c": hash{
					"g:1000:60": "50", "s:1000": "7", "out": "43", "counted": "43", "at": "1000", "limited": "1",
				}},
			),
		},
		{
			name: "not prepaid any more", listed: held, keys: keys, argv: argv("<day>", "a", 10, `{"n":2}`, 0, 0),
			reply: []any{},
			after: with(held, db{
				"rooms": hash{"a": `10|{"n":2}`},
				"c": hash{
					"g:1000:60": "50", "g:980:5": "20", "out": "50", "counted": "0", "at": "1000", "limited": "1",
				}, "adv": hash{"out": "20"},
			}),
			expires: []string{"c", "adv"}, reported: channel{`{"rooms":[{"n":2}]}`},
		},
		{
			name:   "versions beyond a Lua number",
			listed: with(held, db{"rooms": hash{"a": `9223372036854775806|{"n":1}`}, "c": nil}), keys: keys,
			argv: argv("<day>", "a", "9223372036854775807", `{"n":2}`, 0, 0), reply: []any{},
			after:    with(held, db{"rooms": hash{"a": `9223372036854775807|{"n":2}`}, "c": nil}),
			reported: channel{`{"rooms":[{"n":2}]}`},
		},
	}
}

func dropCalls() []call {
	rooms := db{"rooms": hash{"a": "9|x", "b": "1|y"}}
	return []call{
		{
			name: "as it was read", listed: rooms, keys: []string{"rooms"}, argv: []any{"a", "9|x"}, reply: int64(1),
			after: db{"rooms": hash{"b": "1|y"}},
		},
		{
			name: "written meanwhile", listed: rooms, keys: []string{"rooms"}, argv: []any{"a", "8|x"}, reply: int64(0),
		},
	}
}

func leaseCalls() []call {
	keys := []string{"state", "rooms", "nodes", "seen"}
	claimKeys := append(slices.Clone(keys), "c", "adv", "h")
	const unlimited = "9223372036854775807"
	room := func(day, left, balance string) string {
		return `1|{"id":"a","day":` + day + `,"daily":100,"today":` + left + `,"total":90,"balance":` + balance + `}`
	}
	open := db{
		"state": hash{"epoch": "5", "opens": "1", "beat": "60000000"},
		"nodes": sorted{"n": "<now>", "m": "<now-30s>", "gone": "<now-90s>"},
		"rooms": hash{"a": room("<day>", "80", unlimited)},
	}
	head := func(epoch, seq, acked int, clock any, request ...any) []any {
		return append(append(slices.Clone(reserving), epoch, "n", seq, acked, 60_000, clock, 2), request...)
	}
	want := func(exact, amount, least, step, price int) []any {
		return head(5, 4, 3, 0, "a", 1000, 60, exact, amount, least, step, price)
	}
	known := with(open, db{"seen": hash{"n": "3"}})
	after := func(changed db) db { return with(with(known, db{"seen": hash{"n": "4"}}), changed) }
	ok := func(rest ...any) []any {
		return append([]any{"ok", "5", int64(2), int64(0), "<long>", int64(1)}, rest...)
	}
	gathering := func(rest ...any) []any {
		return append([]any{"ok", "5", int64(2), int64(0), "<long>", int64(0)}, rest...)
	}
	all := []string{"seen", "c", "h"}
	limited := with(known, db{"rooms": hash{"a": room("<day>", "80", "60")}, "adv": hash{"out": "40"}})
	holding := with(known, db{
		"h": hash{"1000:60": "20", "q:1000:60": "2"},
		"c": hash{"g:1000:60": "25", "out": "25", "counted": "0", "at": "1000", "limited": "0"},
	})
	return []call{
		{
			name: "a store that was never built", keys: keys, argv: head(0, 1, 0, 0),
			reply: []any{"lost", "0", int64(1), int64(0), int64(0), int64(0)}, after: db{},
		},
		{
			name: "of an epoch before", listed: open, keys: keys, argv: head(4, 1, 0, 0),
			reply: []any{"moved", "5", int64(2), int64(0), int64(0), int64(0)},
		},
		{
			name: "an older epoch than was seen", listed: open, keys: keys, argv: head(6, 1, 0, 0),
			reply: []any{"lost", "0", int64(2), int64(0), int64(0), int64(0)}, after: with(open, db{"state": nil}),
		},
		{
			name: "an old dump", listed: known, keys: keys, argv: head(5, 6, 5, 0),
			reply: []any{"lost", "0", int64(2), int64(0), int64(0), int64(0)}, after: with(known, db{"state": nil}),
		},
		{
			name: "a clock that is behind", listed: open, keys: keys, argv: head(5, 1, 0, "<now-600s>"),
			reply: []any{"skewed", "0", int64(2), -10 * time.Minute, int64(0), int64(0)},
		},
		{
			name: "the first call", listed: open, keys: keys, argv: head(5, 1, 0, 0), reply: ok(),
			after: with(open, db{"seen": hash{"n": "1"}}), expires: []string{"seen"},
		},
		{name: "an overtaken call", listed: known, keys: keys, argv: head(5, 2, 1, 0), reply: ok()},
		{
			name: "a share of what is free", listed: known, keys: claimKeys, argv: want(0, 60, 1, 1, 1),
			reply: ok("20", "0"), expires: all,
			after: after(db{
				"h": hash{"1000:60": "20", "q:1000:60": "4"},
				"c": hash{"g:1000:60": "20", "out": "20", "counted": "0", "at": "1000", "limited": "0"},
			}),
		},
		{
			name: "whole steps", listed: known, keys: claimKeys, argv: want(0, 60, 30, 30, 30), reply: ok("30", "0"),
			expires: all,
			after: after(db{
				"h": hash{"1000:60": "30", "q:1000:60": "4"},
				"c": hash{"g:1000:60": "30", "out": "30", "counted": "0", "at": "1000", "limited": "0"},
			}),
		},
		{
			name: "less than is of use", listed: known, keys: claimKeys, argv: want(0, 60, 21, 1, 1),
			reply: ok("0", "1"), expires: []string{"seen"}, after: after(nil),
		},
		{
			name: "a price above the budget", listed: known, keys: claimKeys, argv: want(0, 60, 1, 1, 81),
			reply: ok("0", "1"), expires: []string{"seen"}, after: after(nil),
		},
		{
			name: "no room", listed: with(known, db{"rooms": nil}), keys: claimKeys, argv: want(0, 60, 1, 1, 1),
			reply: ok("0", "2"), expires: []string{"seen"}, after: after(db{"rooms": nil}),
		},
		{
			name:   "while nodes say what they hold",
			listed: with(known, db{"state": hash{"epoch": "5", "opens": "<now+60s>", "beat": "60000000"}}),
			keys:   claimKeys,
			argv:   want(0, 60, 1, 1, 1), reply: gathering("0", "3"), expires: []string{"seen"},
			after: after(db{"state": hash{"epoch": "5", "opens": "<now+60s>", "beat": "60000000"}}),
		},
		{
			name:   "exactly, meanwhile",
			listed: with(known, db{"state": hash{"epoch": "5", "opens": "<now+60s>", "beat": "60000000"}}),
			keys:   claimKeys,
			argv:   want(1, 500, 1, 1, 1), reply: gathering("500", "0"), expires: all,
			after: after(db{
				"state": hash{"epoch": "5", "opens": "<now+60s>", "beat": "60000000"},
				"h":     hash{"1000:60": "500", "q:1000:60": "4"},
				"c":     hash{"g:1000:60": "500", "out": "500", "counted": "0", "at": "1000", "limited": "0"},
			}),
		},
		{
			name:   "of a room of yesterday the whole day is free",
			listed: with(known, db{"rooms": hash{"a": room("1", "0", unlimited)}}), keys: claimKeys,
			argv: want(0, 60, 1, 1, 1), reply: ok("22", "0"), expires: all,
			after: after(db{
				"rooms": hash{"a": room("1", "0", unlimited)},
				"h":     hash{"1000:60": "22", "q:1000:60": "4"},
				"c":     hash{"g:1000:60": "22", "out": "22", "counted": "0", "at": "1000", "limited": "0"},
			}),
		},
		{
			name:   "of a room of tomorrow nothing is",
			listed: with(known, db{"rooms": hash{"a": room("99999", "80", unlimited)}}), keys: claimKeys,
			argv: want(0, 60, 1, 1, 1), reply: ok("0", "1"), expires: []string{"seen"},
			after: after(db{"rooms": hash{"a": room("99999", "80", unlimited)}}),
		},
		{
			name: "a balance that other campaigns share", listed: limited, keys: claimKeys, argv: want(0, 60, 1, 1, 1),
			reply: ok("5", "0"), expires: append(slices.Clone(all), "adv"),
			after: with(limited, db{
				"seen": hash{"n": "4"}, "h": hash{"1000:60": "5", "q:1000:60": "4"},
				"c":   hash{"g:1000:60": "5", "out": "5", "counted": "5", "at": "1000", "limited": "1"},
				"adv": hash{"out": "45"},
			}),
		},
		{
			name: "more", listed: holding, keys: claimKeys, argv: want(0, 60, 1, 1, 1), reply: ok("33", "0"),
			expires: all,
			after: after(db{
				"h": hash{"1000:60": "33", "q:1000:60": "4"},
				"c": hash{"g:1000:60": "38", "out": "38", "counted": "0", "at": "1000", "limited": "0"},
			}),
		},
		{
			name: "given back", listed: holding, keys: claimKeys, argv: want(1, 5, 1, 1, 1), reply: ok("5", "0"),
			expires: all,
			after: after(db{
				"h": hash{"1000:60": "5", "q:1000:60": "4"},
				"c": hash{"g:1000:60": "10", "out": "10", "counted": "0", "at": "1000", "limited": "0"},
			}),
		},
		{
			name: "a later call has spoken", listed: with(holding, db{"h": hash{"1000:60": "20", "q:1000:60": "5"}}),
			keys: claimKeys, argv: want(1, 5, 1, 1, 1),
			reply: ok("20", "0"), expires: []string{"seen"},
			after: with(with(holding, db{"h": hash{"1000:60": "20", "q:1000:60": "5"}}), db{"seen": hash{"n": "4"}}),
		},
		{
			name:   "what was told in its name ends when it speaks",
			listed: with(holding, db{"h": hash{"1000:60": "20", "q:1000:60": "0"}}), keys: claimKeys,
			argv:  want(0, 10, 1, 1, 1),
			reply: ok("10", "0"), expires: all,
			after: after(db{
				"h": hash{"1000:60": "10", "q:1000:60": "4"},
				"c": hash{"g:1000:60": "15", "out": "15", "counted": "0", "at": "1000", "limited": "0"},
			}),
		},
		{
			name: "a minute has passed: what is past its window is free again",
			listed: with(
				known,
				db{"c": hash{
					"g:990:5": "70", "g:999:60": "10", "out": "80", "counted": "0", "at": "995", "limited": "0",
				}},
			),
			keys: claimKeys, argv: want(0, 60, 1, 1, 1), reply: ok("17", "0"), expires: all,
			after: after(db{
				"h": hash{"1000:60": "17", "q:1000:60": "4"},
				"c": hash{
					"g:990:5": "70", "g:999:60": "10", "g:1000:60": "17", "out": "27", "counted": "0", "at": "1000",
					"limited": "0",
				},
			}),
		},
		{
			name:   "a full holder is tidied",
			listed: with(known, db{"h": hash{"900:60": "1", "q:900:60": "2", "990:60": "3", "q:990:60": "3"}}),
			keys:   claimKeys,
			argv:   want(0, 60, 1, 1, 1), reply: ok("20", "0"), expires: all,
			after: after(db{
				"h": hash{"990:60": "3", "q:990:60": "3", "1000:60": "20", "q:1000:60": "4"},
				"c": hash{"g:1000:60": "20", "out": "20", "counted": "0", "at": "1000", "limited": "0"},
			}),
		},
	}
}
