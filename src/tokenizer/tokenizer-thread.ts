import { serveJobs } from '../threads/serve-jobs.ts';
import { countTokens, encodingOf, textHead, textOf } from './encoding.ts';
import type { TokenJob } from './threaded-tokenizer.ts';

serveJobs(async (job: TokenJob) => {
  const encoding = await encodingOf(job.model);
  if ('written' in job) return textOf(job.written, encoding);
  if ('text' in job) return textHead(job.text, job.tokens, encoding);
  return job.texts.reduce((all, text) => all + countTokens(text, encoding), 0);
});
