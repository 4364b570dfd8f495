import { definePreset, inWords } from './preset.ts';

export const reddit = definePreset({
  name: 'reddit',
  displayName: 'Reddit',
  documentation: 'https://github.com/reddit-archive/reddit/wiki/OAuth2',
  pkce: 'undocumented',
  scopes: inWords({
    identity: ['See your name', '查看您的名称'],
    read: ['Read posts and comments as you', '以您的身份读取帖子和评论'],
    submit: ['Post and comment for you', '代您发帖和评论'],
    edit: ['Change and delete your posts and comments', '修改和删除您的帖子和评论'],
    history: ['See what you voted for, saved and hid', '查看您投票、收藏和隐藏的内容'],
    mysubreddits: ['See the communities that you belong to', '查看您所属的社区'],
    subscribe: ['Join and leave communities for you', '代您加入和退出社区'],
    vote: ['Vote for you', '代您投票'],
    save: ['Save posts and comments for you', '代您收藏帖子和评论'],
    report: ['Report content for you', '代您举报内容'],
    privatemessages: ['Read and send your private messages', '读取和发送您的私信'],
    flair: ['Choose your flair', '选择您的标识'],
    account: ['Change your preferences', '修改您的偏好设置'],
    wikiread: ['Read wiki pages', '读取百科页面'],
    wikiedit: ['Change wiki pages for you', '代您修改百科页面'],
  }),
  provider: {
    authorizationEndpoint: 'https://www.reddit.com/api/v1/authorize',
    tokenEndpoint: 'https://www.reddit.com/api/v1/access_token',
    userinfoEndpoint: 'https://oauth.reddit.com/api/v1/me',
    clientAuthentication: 'client_secret_basic',
    baseScopes: ['identity'],
    defaultScopes: ['read'],
    // Without it there is no refresh token.
    authorizationParameters: { duration: 'permanent' },
    account: { from: 'userinfo', idClaim: 'id', nameClaim: 'name' },
    revocation: { endpoint: 'https://www.reddit.com/api/v1/revoke_token' },
  },
  notes: ['Reddit slows down or refuses requests without a descriptive User-Agent, also those of tools to its API.'],
});
