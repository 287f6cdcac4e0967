import { serveJobs } from '../../threads/serve-jobs.ts';
import { parseForm } from './parse-form.ts';

serveJobs(parseForm);
