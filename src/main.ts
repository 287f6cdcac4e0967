import { keepCompiled } from './cli/compile-cache.ts';

// First: it is for the modules that are loaded after it.
await keepCompiled(process.env);
const { runProcess } = await import('./cli/process.ts');
await runProcess(process);
