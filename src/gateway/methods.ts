import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { noSuchPath, Refusal } from './http-errors';

/** Answers paths that are not there: 405 with the methods of a path that has others, else 404. */
export function refuseUnknownPaths(app: FastifyInstance): void {
  const routes: { path: RegExp; methods: string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    const path = new RegExp(`^${url.replace(/[.]/g, '\\.').replace(/:[^/]+/g, '[^/]+')}$`);
    routes.push({ path, methods: [method].flat() });
  });
  const refuse = ({ url }: FastifyRequest, reply: FastifyReply): never => {
    const [path = ''] = url.split('?');
    const methods = new Set(
      routes.filter((route) => route.path.test(path)).flatMap((route) => route.methods),
    );
    if (methods.size === 0) throw noSuchPath();
    const allow = [...methods].sort().join(', ');
    reply.header('allow', allow);
    throw new Refusal({ status: 405, code: 'method_not_allowed', message: `This path takes ${allow} only.` });
  };
  // Before the body is read: it may be of a type that makes fastify answer with something else.
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) refuse(request, reply);
  });
  app.setNotFoundHandler(refuse);
}
