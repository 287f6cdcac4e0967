import { serveJobs } from '../threads/serve-jobs.ts';
import { countTokens, headOf } from './o200k.ts';
import type { TokenJob } from './threaded-tokenizer.ts';

serveJobs((job: TokenJob) => (job.tokens === null ? countTokens(job.text) : headOf(job.text, job.tokens)));
