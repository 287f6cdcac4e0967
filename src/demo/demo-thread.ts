import { serveJobs } from '../threads/serve-jobs.ts';
import { demoSteps, type DemoJob } from './demo-script.ts';

serveJobs(({ body, howToSignIn }: DemoJob) => demoSteps(body, howToSignIn));
