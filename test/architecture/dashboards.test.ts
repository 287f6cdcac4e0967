import { readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { ALL_METRICS } from '../../src/compose/features.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

/** Labels that Prometheus adds. */
const SCRAPED = new Set(['instance', 'job']);

/** The names of all series of this server, with their labels. */
const SERIES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.values(ALL_METRICS).flatMap(({ name, kind, labels }): [string, Set<string>][] =>
    kind === 'histogram'
      ? ['bucket', 'sum', 'count'].map((part) => [`${name}_${part}`, new Set([...labels, 'le'])])
      : [[name, new Set(labels)]],
  ),
);

/** What is wrong with an expression: series and labels that do not exist, rates of gauges, parentheses. */
const problemsOf = (expression: string): readonly string[] => {
  const problems: string[] = [];
  const labels = new Set<string>();
  for (const [, name = ''] of expression.matchAll(/\b(proxy_\w+)/g)) {
    const known = SERIES.get(name);
    if (known === undefined) problems.push(`${name} does not exist`);
    for (const label of known ?? []) labels.add(label);
  }
  for (const [, name = '', selector = ''] of expression.matchAll(/\b(proxy_\w+)\{([^}]*)\}/g)) {
    for (const [, label = ''] of selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)) {
      if (!SCRAPED.has(label) && SERIES.get(name)?.has(label) !== true)
        problems.push(`${name} has no label ${label}`);
    }
  }
  for (const [, list = ''] of expression.matchAll(/\bby\s*\(([^)]*)\)/g)) {
    for (const label of list.split(',').map((one) => one.trim())) {
      if (!SCRAPED.has(label) && !labels.has(label)) problems.push(`no series has the label ${label}`);
    }
  }
  for (const [, name = ''] of expression.matchAll(/\b(?:rate|increase)\((\w+)/g)) {
    if (!/_(?:total|bucket|sum|count)$/.test(name)) problems.push(`${name} is not a counter`);
  }
  for (const [open = '', close = ''] of ['()', '{}', '[]']) {
    if (expression.split(open).length !== expression.split(close).length)
      problems.push(`${open} is not closed`);
  }
  return problems.map((problem) => `${problem}: ${expression}`);
};

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

it('wrong expressions are found', () => {
  expect(
    [
      'rate(proxy_requests_totals[5m])',
      'sum by (model) (rate(proxy_requests_total{key="a"}[5m]))',
      'rate(proxy_turns_running[5m]',
    ].flatMap(problemsOf),
  ).toEqual([
    expect.stringContaining('proxy_requests_totals does not exist'),
    expect.stringContaining('is not a counter'),
    expect.stringContaining('proxy_requests_total has no label key'),
    expect.stringContaining('no series has the label model'),
    expect.stringContaining('proxy_turns_running is not a counter'),
    expect.stringContaining('( is not closed'),
  ]);
});

describe('deploy/grafana-dashboard.json', () => {
  const { panels } = JSON.parse(read('deploy/grafana-dashboard.json')) as { panels: readonly Panel[] };
  const targets = panels.flatMap((panel) => panel.targets ?? []);

  it('uses metrics and labels that exist', () => {
    expect(targets.length).toBeGreaterThan(20);
    expect(targets.flatMap(({ expr }) => problemsOf(expr))).toEqual([]);
    const unknown = targets.flatMap(({ expr, legendFormat }) =>
      [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].flatMap(([, label = '']) =>
        expr.includes(label) ? [] : [`${label} is not in ${expr}`],
      ),
    );
    expect(unknown).toEqual([]);
  });

  it('has panels with titles that do not overlap', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(panels.filter(({ title }) => title === '')).toEqual([]);
    const taken = new Set<string>();
    for (const { title, gridPos } of panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect([title, x < 24, taken.has(`${x} ${y}`)]).toEqual([title, true, false]);
          taken.add(`${x} ${y}`);
        }
      }
    }
  });
});

describe('deploy/prometheus-alerts.yaml', () => {
  const { groups } = parse(read('deploy/prometheus-alerts.yaml')) as {
    groups: readonly {
      rules: readonly {
        alert: string;
        expr: string;
        for?: string;
        labels: { severity: string };
        annotations: { summary: string; description: string };
      }[];
    }[];
  };
  const rules = groups.flatMap((group) => group.rules);

  it('uses metrics and labels that exist', () => {
    expect(rules.length).toBeGreaterThan(10);
    expect(rules.flatMap(({ expr }) => problemsOf(expr))).toEqual([]);
    // What a summary shows must be a label of the result.
    const unknown = rules.flatMap(({ alert, expr, annotations }) =>
      [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].flatMap(([, label = '']) =>
        expr.includes(label) || (label === 'instance' && expr.startsWith('up{'))
          ? []
          : [`${alert}: ${label}`],
      ),
    );
    expect(unknown).toEqual([]);
  });

  it('has alerts with a name, a severity and an explanation of their own', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, labels, annotations, for: duration = '1m' } of rules) {
      expect([
        alert,
        ['critical', 'warning', 'info'].includes(labels.severity),
        annotations.summary.length > 10 && annotations.description.length > 10,
        /^\d+[smh]$/.test(duration),
      ]).toEqual([alert, true, true, true]);
    }
  });
});
