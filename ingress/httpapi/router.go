package httpapi

import (
	"strings"
)

// router finds the entrance for a method and a path. It is an index over the few routes that there
// are: paths without parameters by their text, the others one after the other. A library's router
// would bring rules that we do not want (redirects to a cleaned path, HEAD where GET is), and
// allocations.
type router struct {
	fixed map[string]*site
	open  []*site // paths with parameters, in the order of their mounting
}

// site is a path with what answers there.
type site struct {
	path      string
	params    []string    // names
	entrances []*entrance // one for each method, in the order of their mounting
	allow     string      // the methods
	form      ErrorForm   // of all its errors; nil for WriteError
}

// add makes e reachable and gives its site, or false if its method and path are taken.
func (r *router) add(e *entrance) (*site, bool) {
	s := r.named(e.path)
	if s == nil {
		s = &site{path: e.path}
		for part := range strings.SplitSeq(e.path, "/") {
			if name, is := strings.CutPrefix(part, ":"); is {
				s.params = append(s.params, name)
			}
		}
		if len(s.params) == 0 {
			r.fixed[e.path] = s
		} else {
			r.open = append(r.open, s)
		}
	}
	if s.entrance(e.method) != nil {
		return s, false
	}
	s.entrances = append(s.entrances, e)
	if s.allow != "" {
		s.allow += ", "
	}
	s.allow += e.method
	return s, true
}

// named is the site that was mounted as path.
func (r *router) named(path string) *site {
	for _, s := range r.open {
		if s.path == path {
			return s
		}
	}
	return r.fixed[path]
}

// find returns the site of a request's path, nil for an unknown path, and puts the values of the
// path's parameters into values.
func (r *router) find(path string, values []string) (*site, []string) {
	if s, ok := r.fixed[path]; ok {
		return s, values
	}
	for _, s := range r.open {
		if found, ok := match(s.path, path, values); ok {
			return s, found
		}
	}
	return nil, values
}

// match compares a path with a mounted one, whose parameters stand for one part each.
func match(mounted, path string, values []string) ([]string, bool) {
	for {
		i := strings.IndexByte(mounted, ':')
		if i < 0 {
			return values, mounted == path
		}
		if len(path) <= i || path[:i] != mounted[:i] {
			return values, false
		}
		mounted, path = mounted[i:], path[i:]
		var value string
		value, path = part(path)
		_, mounted = part(mounted)
		values = append(values, value)
	}
}

// part cuts a path before its first slash.
func part(path string) (first, rest string) {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

func (s *site) entrance(method string) *entrance {
	for _, e := range s.entrances {
		if e.method == method {
			return e
		}
	}
	return nil
}
