import { serveJobs } from '../../threads/serve-jobs.ts';
import { judgeFormat } from './format-schema.ts';

serveJobs(judgeFormat);
