// Renders the chart as Helm documents it: Go's text/template with the functions of Sprig, for the tests.
// Usage: render CHART < INPUT. INPUT is JSON: values, release, objects in the cluster. Writes JSON: each template with its text.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type values = map[string]interface{}

type files string

func (folder files) Get(name string) string {
	text, _ := os.ReadFile(filepath.Join(string(folder), name))
	return string(text)
}

// Values of an operator replace the chart's; maps are merged, and null removes.
func merge(into, from values) {
	for key, value := range from {
		inner, isMap := value.(values)
		before, wasMap := into[key].(values)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			merge(before, inner)
		default:
			into[key] = value
		}
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	chart := os.Args[1]
	var input struct {
		Values  values            `json:"values"`
		Release values            `json:"release"`
		Objects map[string]values `json:"objects"`
	}
	must(json.NewDecoder(os.Stdin).Decode(&input))
	read := func(name string) (parsed values) {
		must(yaml.Unmarshal([]byte(files(chart).Get(name)), &parsed))
		return
	}
	all, described, named := read("values.yaml"), read("Chart.yaml"), values{}
	merge(all, input.Values)
	for key, value := range described {
		named[strings.ToUpper(key[:1])+key[1:]] = value
	}

	set := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	functions["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := set.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	functions["lookup"] = func(version, kind, namespace, name string) values {
		return input.Objects[strings.Join([]string{version, kind, namespace, name}, "/")]
	}
	set.Funcs(functions)

	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	must(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		must(err)
		_, err = set.New(filepath.Base(path)).Parse(string(text))
		must(err)
	}
	rendered := map[string]string{}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text bytes.Buffer
		data := values{"Values": all, "Release": input.Release, "Chart": named, "Files": files(chart)}
		must(set.ExecuteTemplate(&text, name, data))
		rendered[name] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	must(json.NewEncoder(os.Stdout).Encode(rendered))
}
