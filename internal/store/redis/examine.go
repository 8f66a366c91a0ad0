package redis

import (
	"context"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adnet/internal/process/link"
)

// Examine inspects Redis as adnet uses it: version, distance, kind of link, and the user's rights
// for the work of nodes and consumers. It leaves nothing behind: its key expires.
func Examine(ctx context.Context, cfg Config, deps Deps) link.Report {
	report := link.Report{Server: "Redis", Setting: envAddr}
	var watch link.Watch
	client, err := open(cfg, deps, watch.Seen)
	if err != nil {
		report.Away(err, "mend the setting")
		return report
	}
	defer func() { _ = client.Close() }() // nothing was written
	report.Address = strings.Join(client.to.addrs, ",")
	err = report.Measure(func() (time.Time, error) { return client.rdb.Time(ctx).Result() })
	if err != nil {
		report.Away(client.explain(err), "start Redis, or correct "+envAddr)
		return report
	}
	local := true
	for _, addr := range client.to.addrs {
		local = local && link.Local(addr)
	}
	report.Encrypted(&watch, local, "write rediss:// in "+envAddr)
	client.describe(ctx, &report)
	client.tryRights(ctx, &report)
	client.describeFlags(ctx, &report)
	client.describeNodes(ctx, &report)
	return report
}

// describe notes the version, and a memory policy that would evict budgets.
func (c *Client) describe(ctx context.Context, report *link.Report) {
	const do = "add +info to the user's rights"
	server, err := c.rdb.Info(ctx, "server").Result()
	if err != nil {
		report.Right("read INFO", false, do)
		return
	}
	report.Version = line(server, "redis_version")
	memory, err := c.rdb.Info(ctx, "memory").Result()
	if err != nil {
		report.Right("read INFO", false, do)
		return
	}
	if policy := line(memory, "maxmemory_policy"); strings.HasPrefix(policy, "allkeys-") {
		report.Mend(
			"maxmemory-policy is "+policy+": Redis would drop budgets and campaigns when it is full",
			"set it to noeviction or volatile-ttl",
		)
	}
}

// line returns a value of INFO.
func line(info, name string) string {
	for text := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(text), name+":"); ok {
			return value
		}
	}
	return ""
}

// tryRights does the operations of nodes on its own key and channel.
func (c *Client) tryRights(ctx context.Context, report *link.Report) {
	key := c.keys.prefix + ":{catalog}:doctor"
	script := goredis.NewScript(`return redis.call('SET', KEYS[1], ARGV[1], 'PX', 1000)`)
	const do = "give the user of ADNET_REDIS_USERNAME its rights: docs/operate/links.md"
	report.Right("run scripts on its keys", script.Run(ctx, c.rdb, []string{key}, "1").Err() == nil, do)
	report.Right("write keys", c.rdb.Set(ctx, key, 1, time.Second).Err() == nil, do)
	report.Right("publish changes", c.rdb.Publish(ctx, c.keys.prefix+":{catalog}:doctor", "").Err() == nil, do)
	listening := c.rdb.Subscribe(ctx, c.keys.prefix+":{catalog}:doctor")
	_, err := listening.Receive(ctx)
	report.Right("listen to changes", err == nil, do)
	_ = listening.Close() // nothing was written
}

// describeNodes reports what nodes reported about the addresses of their clients. Read errors are
// ignored here: the check of rights reports them.
func (c *Client) describeNodes(ctx context.Context, report *link.Report) {
	processes, err := NewRoster(c).Processes(ctx)
	if err != nil {
		return
	}
	for i := range processes {
		report.Conns += int(processes[i].Conns)
		for _, concern := range processes[i].Concerns(time.Now()) {
			if concern.Mend {
				report.Mend(concern.What, concern.Do)
			} else {
				report.Advise(concern.What, concern.Do)
			}
		}
	}
}
