import { serveJobs } from '../threads/serve-jobs.ts';
import { countTokens, encodingOf, headOf, textOf } from './encoding.ts';
import type { TokenJob } from './threaded-tokenizer.ts';

serveJobs(async (job: TokenJob) => {
  const encoding = await encodingOf(job.model);
  if ('written' in job) return textOf(job.written, encoding);
  return job.tokens === null ? countTokens(job.text, encoding) : headOf(job.text, job.tokens, encoding);
});
