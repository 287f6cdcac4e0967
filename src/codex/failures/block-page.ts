/** Text of Cloudflare's challenge and error pages. */
const WORDS =
  /challenge-platform|cf-chl|_cf_chl|<title>\s*just a moment|attention required! \| cloudflare|used cloudflare to restrict access|enable javascript and cookies to continue|cf-error-details/i;
/** Its plain-text form, for clients that do not look like a browser. */
const SHORT = /^\s*error code: 1\d{3}\s*$/;

const STATUSES = new Set([403, 429, 503]);

/** Whether an error is a Cloudflare page instead of the upstream's own answer. */
export const isBlockPage = (status: number | null, body: string, mitigated: string | null): boolean => {
  if (status === null || !STATUSES.has(status)) return false;
  if (SHORT.test(body)) return true;
  return isHtml(body) && (mitigated !== null || WORDS.test(body));
};

const isHtml = (body: string): boolean => /^\s*(?:<!doctype html|<html|<head)/i.test(body);
