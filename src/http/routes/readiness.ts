import type { BackendHealth } from '../../observe/backend-health.ts';

export interface ReadinessDeps {
  readonly isReady: () => boolean;
  readonly backendHealth: () => BackendHealth;
}

/**
 * `/readyz` is about this server: is there a worker? `/readyz?backend` is about the backend too, as the
 * last requests met it. They are two questions: a load balancer that took a server out because its
 * backend fails would never learn that it is well again, since only requests tell.
 */
export const readiness = (http: Request, { isReady, backendHealth }: ReadinessDeps): Response => {
  const isAbout = new URL(http.url).searchParams.has('backend');
  const health = backendHealth();
  const ready = isReady() && !(isAbout && health.state === 'failing');
  const status = ready ? 'ready' : 'not ready';
  return Response.json(isAbout ? { status, backend: shown(health) } : { status }, {
    status: ready ? 200 : 503,
  });
};

const shown = (health: BackendHealth): object =>
  health.state === 'unknown' ? health : { ...health, since: new Date(health.since).toISOString() };
