import { definePreset, inWords } from './preset.ts';
import { standardScopes } from './standard-scopes.ts';

export const gitlab = definePreset({
  name: 'gitlab',
  displayName: 'GitLab',
  documentation: 'https://docs.gitlab.com/api/oauth2/',
  pkce: 'documented',
  placeholders: {
    host: {
      kind: 'host',
      port: true,
      help: 'Host of your GitLab, when it is not gitlab.com',
      example: 'gitlab.acme.example',
      fallback: 'gitlab.com',
    },
  },
  scopes: {
    ...standardScopes('openid', 'profile', 'email'),
    ...inWords({
      api: ['Read and change everything you can in GitLab', '读取和修改您在 GitLab 中可以访问的一切'],
      read_api: ['Read everything you can in GitLab', '读取您在 GitLab 中可以访问的一切'],
      read_user: ['Read your profile', '读取您的个人资料'],
      read_repository: ['Read your repositories', '读取您的代码仓库'],
      write_repository: ['Read and change your repositories', '读取和修改您的代码仓库'],
      read_registry: ['Download container images', '下载容器镜像'],
      write_registry: ['Publish container images', '发布容器镜像'],
      create_runner: ['Create runners that execute jobs', '创建执行任务的运行器'],
      manage_runner: ['Manage runners that execute jobs', '管理执行任务的运行器'],
      k8s_proxy: ['Reach your Kubernetes clusters', '访问您的 Kubernetes 集群'],
      ai_features: ['Use GitLab Duo for you', '代您使用 GitLab Duo'],
    }),
  },
  provider: {
    issuer: 'https://{host}',
    discovery: 'oidc',
    baseScopes: ['openid', 'profile'],
    defaultScopes: ['read_user'],
    scopeImplies: { api: ['read_api', 'read_user'], read_api: ['read_user'], write_repository: ['read_repository'] },
    account: { from: 'id_token', idClaim: 'sub', nameClaim: 'nickname' },
  },
  notes: [
    'Tick openid and profile for the application in GitLab, beside the scopes that tools need.',
    'A self-managed GitLab whose metadata is silent about PKCE is refused until allowMissingPkceMetadata is set.',
    'Access tokens last two hours; a refresh replaces both tokens, and the old ones stop working at once.',
  ],
});
