"""What the parent tells its clients: who serves now, that it is enough, and that all is to be brought to its end."""

import asyncio

from proofs.children import Voice
from proofs.http.client import Client


class Orders:
    """Follows what the parent tells, from within the loop of the clients.

    Attributes:
        calm: no new life begins.
        finish: all that is open is brought to its end.
    """

    def __init__(self, voice: Voice, client: Client) -> None:
        self.calm = asyncio.Event()
        self.finish = asyncio.Event()
        self._voice = voice
        self._client = client
        asyncio.get_running_loop().add_reader(voice, self._hear)

    def _hear(self) -> None:
        line = self._voice.hear()
        if line is None or "finish" in line:
            self.calm.set()
            self.finish.set()
            asyncio.get_running_loop().remove_reader(self._voice)
        elif "calm" in line:
            self.calm.set()
        else:
            self._client.life = line["life"]
            self._voice.say(life=self._client.life)
