package redis

import (
	"cmp"
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"adnet/internal/process/roster"
)

// Roster stores the reports of processes: JSON of a few hundred bytes each, removed after a minute
// of silence, and the last run of each of the few jobs. It is only shown to administrators.
type Roster struct{ client *Client }

// NewRoster returns a view of the roster. It does no I/O.
func NewRoster(client *Client) *Roster { return &Roster{client} }

var _ roster.Store = (*Roster)(nil)

// Say implements roster.Store. It removes silent processes, like the nodes' heartbeat.
func (r *Roster) Say(ctx context.Context, p roster.Process) error {
	report, err := json.Marshal(p)
	if err != nil {
		return err
	}
	keys := []string{r.client.keys.processes, r.client.keys.reports}
	return r.client.explain(
		heartbeatScript.Run(ctx, r.client.rdb, keys, p.Name, report, roster.Memory.Milliseconds()).Err(),
	)
}

// Leave implements roster.Store.
func (r *Roster) Leave(ctx context.Context, name string) error {
	if err := r.client.rdb.ZRem(ctx, r.client.keys.processes, name).Err(); err != nil {
		return r.client.explain(err)
	}
	return r.client.explain(r.client.rdb.HDel(ctx, r.client.keys.reports, name).Err())
}

// Processes implements roster.Store: the processes of the last minute, by Redis's clock, sorted by
// name. Unreadable reports, such as those of another version, are left out.
func (r *Roster) Processes(ctx context.Context) ([]roster.Process, error) {
	names, err := liveScript.Run(
		ctx, r.client.rdb, []string{r.client.keys.processes, r.client.keys.reports}, roster.Memory.Milliseconds(),
	).StringSlice()
	if err != nil {
		return nil, r.client.explain(err)
	}
	found := []roster.Process{}
	for i := 1; i < len(names) && len(found) < roster.MaxProcesses; i += 2 {
		var p roster.Process
		if json.Unmarshal([]byte(names[i]), &p) == nil {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b roster.Process) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// Ended implements roster.Store.
func (r *Roster) Ended(ctx context.Context, ran roster.Run) error {
	encoded, err := json.Marshal(ran)
	if err != nil {
		return err
	}
	return r.client.explain(r.client.rdb.HSet(ctx, r.client.keys.jobs, ran.Job, encoded).Err())
}

// Runs implements roster.Store: sorted by name.
func (r *Roster) Runs(ctx context.Context) ([]roster.Run, error) {
	encoded, err := r.client.rdb.HGetAll(ctx, r.client.keys.jobs).Result()
	if err != nil {
		return nil, r.client.explain(err)
	}
	found := []roster.Run{}
	for _, text := range encoded {
		var ran roster.Run
		if json.Unmarshal([]byte(text), &ran) == nil {
			found = append(found, ran)
		}
	}
	slices.SortFunc(found, func(a, b roster.Run) int { return cmp.Compare(a.Job, b.Job) })
	return found, nil
}
