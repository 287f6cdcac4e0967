import { serveJobs } from '../threads/serve-jobs.ts';
import { guideTo } from './guide-job.ts';

serveJobs(guideTo);
