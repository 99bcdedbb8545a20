# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A session: one image stream from reset to reset, images in and pose estimates out.

>>> from lingbot_ros import StreamConfig, StreamSession, load_network
>>> session = StreamSession(load_network('random'), StreamConfig(anchor_frames=2, image_size=56))
>>> import numpy as np
>>> image = np.zeros((48, 64, 3), np.uint8)
>>> [len(session.push(image, stamp_ns)) for stamp_ns in (0, 1, 2)]
[0, 2, 1]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lingbot_ros.attention.backend import resolve_backend
from lingbot_ros.checks import require, require_at_least
from lingbot_ros.config import StreamConfig
from lingbot_ros.model.network import Network
from lingbot_ros.model.recommended import recommended_stream
from lingbot_ros.records import PoseEstimate
from lingbot_ros.streaming.cached_stream import CachedStream
from lingbot_ros.streaming.pose_stream import PoseStream
from lingbot_ros.streaming.preprocess import AnyImage, Intake
from lingbot_ros.streaming.pushed import checked_stamp, Pushed
from lingbot_ros.streaming.segments import require_room
from lingbot_ros.streaming.snapshot import Snapshot, take_snapshot
from lingbot_ros.streaming.state import read_session, refuse_damage, SavedSession, write_session
import torch
from torch import Tensor


class StreamSession:
    """
    Streaming localisation of one camera.

    Parameters
    ----------
    network : Network
        From `load_network`.
    config : StreamConfig, optional
        Settings; those the weights were trained for by default.
    backend : str
        'auto', 'sdpa', 'flashinfer', 'flashinfer_fa2' or 'flashinfer_fa3'.

    Raises
    ------
    ConfigError
        If image_size is not a multiple of the network's patch side.
    BackendError
        If the back end cannot serve; kernels are compiled here if they must be.

    """

    def __init__(self, network: Network, config: StreamConfig | None = None,
                 backend: str = 'auto') -> None:
        config = recommended_stream(network) if config is None else config
        self._intake = Intake(config.image_size, network.config.patch_px, network.device)
        require_room(config, network.config.blocks)
        self.network = network
        self.config = config
        self._backend, self.backend_reason = resolve_backend(
            backend, network.config.heads, network.config.head_dim, network.dtype, network.device)
        self._window = config.window
        self._stream: CachedStream | None = None
        self._track: PoseStream | None = None
        self._gathered: list[tuple[Tensor, int]] = []
        self._first_frames = 1 if config.anchors.policy == 'motion' else config.anchor_frames
        self._frames, self._resets, self._reset_reason = 0, 0, ''

    @property
    def window(self) -> int:
        """Keyframes after the anchors whose patches the next frame sees."""
        return self._window

    @property
    def backend_name(self) -> str:
        """Attention back end that runs."""
        return self._backend

    @property
    def frames(self) -> int:
        """Frames accepted since reset, gathered anchors included."""
        return self._frames

    @property
    def keyframes(self) -> int:
        """Frames kept in the cache, anchors included."""
        return self.snapshot().keyframes

    @property
    def cache_bytes(self) -> int:
        """Bytes of all caches on the device; 0 before the first anchors ran."""
        return self.snapshot().cache_bytes

    def snapshot(self) -> Snapshot:
        """Return counters and gauges of this moment; safe from any thread."""
        return take_snapshot(self._frames, self._window, self._resets, self._reset_reason,
                             self._stream, self._track)

    def push(self, image: AnyImage, stamp_ns: int) -> list[PoseEstimate]:
        """
        Take one frame.

        Parameters
        ----------
        image : ndarray of uint8, shape [H, W, 3], or floating Tensor, shape [3, H, W]
            An RGB camera image of any size, which is resized and cropped; or RGB in [0, 1]
            already sized (multiples of the patch side), which is taken as it is.
        stamp_ns : int
            Its stamp, nanoseconds; handed through.

        Returns
        -------
        list of PoseEstimate
            What became known: none while anchors gather, then all of them, then one a frame; one a
            frame from the first on where anchors are chosen by motion.

        Raises
        ------
        ConfigError
            If the stamp is no integer.
        ShapeError
            If the image has a wrong shape or dtype, or another size than the stream's.
        ImageError
            If the image is empty, too wide or too tall.
        NonFinitePoseError
            If the network's answer is no pose. The frame is dropped as if never pushed; while
            anchors gather, all of them are.
        CacheFullError
            If max_keyframes frames are kept and no segment follows; reset, or raise it.

        """
        stamp_ns = checked_stamp(stamp_ns)
        pixels = self._intake.accept(image)
        if self._track is None:
            self._gathered.append((pixels, stamp_ns))
            self._frames += 1
            return self.flush() if len(self._gathered) == self._first_frames else []
        patches = self._track.stream.encode(pixels[None])[0]
        return [self._step(self._track, patches, pixels, stamp_ns)]

    def stream(self, frames: Iterable[tuple[AnyImage, int]],
               chunk: int = 1) -> Iterator[PoseEstimate]:
        """
        Run a finite sequence, encoding several frames at once; the estimates are those of `push`.

        Parameters
        ----------
        frames : iterable of (image, stamp_ns)
            See `push`.
        chunk : int
            Frames encoded together after the anchors: faster on a GPU, later by as many frames.

        Yields
        ------
        PoseEstimate
            One a frame, in order; `flush` is called at the end.

        Raises
        ------
        LingbotError
            As `push` does, and what was left of the chunk is lost.

        """
        require(chunk >= 1, f'chunk must be >= 1, got {chunk}')
        waiting: list[tuple[Tensor, int]] = []
        for image, stamp_ns in frames:
            if self._track is None:
                yield from self.push(image, stamp_ns)
                continue
            waiting.append((self._intake.accept(image), checked_stamp(stamp_ns)))
            if len(waiting) == chunk:
                yield from self._run_chunk(waiting)
                waiting = []
        yield from self._run_chunk(waiting)
        yield from self.flush()

    def flush(self) -> list[PoseEstimate]:
        """
        Run the gathered anchors even if they are fewer than anchor_frames: the input has ended.

        Returns
        -------
        list of PoseEstimate
            The anchors' estimates; none when no anchors wait.

        Raises
        ------
        NonFinitePoseError
            If the network's answer is no pose; the anchors are dropped.

        """
        if not self._gathered:
            return []
        gathered, self._gathered = self._gathered, []
        try:
            pixels = torch.stack([pixels for pixels, _ in gathered])
            stream = self._stream_for((pixels.shape[2], pixels.shape[3]))
            track = PoseStream(stream, self.config)
            estimates = track.begin([
                Pushed(patches, image, stamp_ns, index) for index, (patches, (image, stamp_ns))
                in enumerate(zip(stream.encode(pixels), gathered, strict=True))])
        except BaseException as error:
            self.reset(f'the first frames failed: {type(error).__name__}')  # and drops them
            raise
        self._track = track
        return estimates

    def set_window(self, window: int) -> None:
        """
        Change the window, from the next frame on; growing waits for new keyframes.

        Parameters
        ----------
        window : int
            Keyframes, at least 1.

        Raises
        ------
        ConfigError, CacheFullError
            If it is no integer >= 1, or the device has no memory; the window stays as it was.

        """
        require_at_least('window', window, 1)
        if self._stream is not None:
            self._stream.set_window(window)
        self._window = window

    def reset(self, reason: str = 'asked to') -> None:
        """
        Forget all frames; the next one begins a new world. The window stays.

        Parameters
        ----------
        reason : str
            For the snapshot.

        """
        self._resets += 1
        self._reset_reason = reason
        if self._stream is not None:
            self._stream.reset()
        self._gathered, self._track, self._frames = [], None, 0
        self._intake.size = None

    def save(self, path: str | Path) -> None:
        """
        Write the running session to a file, from which `load` goes on exactly.

        Parameters
        ----------
        path : str or Path
            Replaced if it exists; appears whole or not at all.

        Raises
        ------
        StateError
            If it cannot be written.

        """
        write_session(path, self.network, self.config, SavedSession(
            self._window, self._intake.size, self._frames, self._resets, self._reset_reason,
            self._gathered, self._track.state() if self._track else None))

    def load(self, path: str | Path) -> None:
        """
        Forget all frames and go on where a saved session was.

        Parameters
        ----------
        path : str or Path
            From `save`, by a session with the same weights, sizes, dtype and settings.

        Raises
        ------
        StateError
            If the file is missing, damaged, of another version, model or setting: nothing changes.
        CacheFullError
            If the device has too little memory. A window that cannot grow changes nothing, other
            failures reset the session: two sets of caches are never held.

        """
        before, saved = self._window, read_session(path, self.network, self.config)
        self.set_window(saved.window)
        self.reset('a saved session could not be loaded')  # What is true if the rest fails.
        if saved.track is not None and saved.size is not None:
            try:
                with refuse_damage(path):
                    track = PoseStream(self._stream_for(saved.size), self.config)
                    track.restore(saved.track)
            except BaseException:
                self._stream, self._window = None, before
                raise
            self._track = track
        self._gathered, self._intake.size, self._frames = saved.gathered, saved.size, saved.frames
        self._resets, self._reset_reason = saved.resets, saved.reset_reason

    def wait_for_device(self) -> None:
        """Wait until the device has finished everything handed to it; no wait on a CPU."""
        if self.network.device.type == 'cuda':
            torch.cuda.synchronize(self.network.device)

    def _stream_for(self, size: tuple[int, int]) -> CachedStream:
        if self._stream is None or self._stream.size != size:
            # The old caches go first, so that two are never held.
            self._stream = None
            self._stream = CachedStream(
                self.network, self.config, size, self._window, self._backend)
        return self._stream

    def _run_chunk(self, chunk: list[tuple[Tensor, int]]) -> Iterator[PoseEstimate]:
        if chunk:
            assert self._track is not None
            encoded = self._track.stream.encode(torch.stack([pixels for pixels, _ in chunk]))
            for patches, (pixels, stamp_ns) in zip(encoded, chunk, strict=True):
                yield self._step(self._track, patches, pixels, stamp_ns)

    def _step(self, track: PoseStream, patches: Tensor, image: Tensor, stamp: int) -> PoseEstimate:
        try:
            estimate = track.step(Pushed(patches, image, stamp, self._frames))
        except BaseException:
            track.stream.discard()  # memory, an interrupt: no frame stays open in the cache
            raise
        self._frames += 1
        return estimate
