import { serveJobs } from '../threads/serve-jobs.ts';
import { guideTo } from './describe-parameters.ts';

serveJobs(guideTo);
