import { serveJobs } from '../threads/serve-jobs.ts';
import { countTokens, headOf, textOf } from './o200k.ts';
import type { TokenJob } from './threaded-tokenizer.ts';

serveJobs((job: TokenJob) => {
  if ('written' in job) return textOf(job.written);
  return job.tokens === null ? countTokens(job.text) : headOf(job.text, job.tokens);
});
