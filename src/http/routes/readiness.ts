import type { BackendHealth } from '../../observe/backend-health.ts';

export interface ReadinessDeps {
  readonly isReady: () => boolean;
  readonly backendHealth: () => BackendHealth;
}

/**
 * `/readyz` reports whether there is a worker; `/readyz?backend` also whether recent requests to the backend succeeded.
 * They are separate because a load balancer that removes a server with a failing backend would never see it recover:
 * only requests show that.
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
