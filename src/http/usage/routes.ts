import type { Scope } from '../../keys/caller.ts';
import {
  projectUsagePage,
  type CompletionsUsage,
  readReportQuery,
  REPORT_PARAMETERS,
  readUsageQuery,
  USAGE_PARAMETERS,
  type UsageQuery,
} from '../../openai/usage/usage-query.ts';
import { unreadQuery } from '../../openai/shared/list-page.ts';
import type { LimitStatus } from '../../keys/key-limits.ts';
import type { UsageGroup, UsageSum } from '../../store/ports/usage.ts';
import { wholeHours } from '../../usage/usage-buckets.ts';
import { DAY_MS, HOUR_MS } from '../../usage/usage-hours.ts';
import type { UsageReader, UsageTotals } from '../../usage/usage-reader.ts';
import { ignoredHeader } from '../answer/ignored-header.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { route, type Route } from '../route.ts';
import { projectReport } from './project-report.ts';

export interface UsageRouteDeps {
  readonly usage: UsageReader;
  /** The limits of a key and what it has used of them. */
  readonly limitsOf: (keyId: string) => Promise<readonly LimitStatus[]>;
}

const WIDTHS = { '1h': HOUR_MS, '1d': DAY_MS };
/** The labels that requests have here. */
const GROUPS = { api_key_id: 'keyId', model: 'model' } as const;

/** What keys have used: their own usage, and that of all keys in OpenAI's form and in this server's. */
export const usageRoutes = (deps: UsageRouteDeps): readonly Route[] => [
  reportRoute(deps, '/v1/usage', ['infer', 'read'], 'own'),
  route('GET /v1/organization/usage/completions', 'read', (http, exchange) =>
    organizationUsage(new URL(http.url).searchParams, deps, exchange.signal),
  ),
  reportRoute(deps, '/v1/codex/usage/summary', ['read'], 'all'),
];

const reportRoute = (
  { usage, limitsOf }: UsageRouteDeps,
  path: string,
  scopes: readonly Scope[],
  of: 'all' | 'own',
): Route =>
  route(`GET ${path}`, { scopes }, async (http, exchange) => {
    const query = new URL(http.url).searchParams;
    const { startTime, endTime, width } = readReportQuery(query, Math.floor(usage.now() / 1000));
    const range = { ...wholeHours(startTime * 1000, endTime * 1000), width: WIDTHS[width] };
    const keyId = of === 'own' ? exchange.caller() : null;
    const report = await usage.report(range, keyId === null ? null : [keyId]);
    const limits = keyId === null ? null : await limitsOf(keyId);
    const body = projectReport(report, { limits, keyId, width, recordedSince: usage.recordedSince });
    return jsonResponse(body, ignoredHeader(unreadQuery(query, REPORT_PARAMETERS)), exchange.signal);
  });

const organizationUsage = async (
  query: URLSearchParams,
  { usage }: UsageRouteDeps,
  signal: AbortSignal,
): Promise<Response> => {
  const asked = readUsageQuery(query);
  const end = asked.endTime === null ? usage.now() : asked.endTime * 1000;
  const { from, to } = wholeHours(asked.startTime * 1000, end);
  const totals = await usage.page({
    from: asked.page === null ? from : asked.page * 1000,
    to,
    width: WIDTHS[asked.width],
    limit: asked.limit,
    keyIds: asked.apiKeyIds,
    models: asked.models,
    by: groupsOf(asked),
  });
  const last = totals.at(-1)?.end ?? to;
  const buckets = totals.map((total) => bucketOf(total, asked));
  const body = projectUsagePage(buckets, asked.groupBy, last < to ? last / 1000 : null);
  return jsonResponse(body, ignoredHeader(unreadQuery(query, USAGE_PARAMETERS)), signal);
};

const groupsOf = ({ groupBy }: UsageQuery): readonly UsageGroup[] =>
  Object.entries(GROUPS).flatMap(([name, group]) =>
    groupBy.has(name as keyof typeof GROUPS) ? [group] : [],
  );

/** This server has no batch jobs. */
const bucketOf = ({ start, end, sums }: UsageTotals, { batch }: UsageQuery) => ({
  startTime: start / 1000,
  endTime: end / 1000,
  results: batch === true ? [] : sums.map(toResult).filter(({ modelRequests }) => modelRequests > 0),
});

/** Requests that were rejected before a model was asked are not requests to the model. */
const toResult = (sum: UsageSum): CompletionsUsage => ({
  ...sum,
  modelRequests: sum.requests - sum.clientErrors - sum.limitErrors,
});
