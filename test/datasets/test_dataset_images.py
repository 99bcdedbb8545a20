# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures from a list, and their central part."""

from __future__ import annotations

from excerpt import indices, picture, write_picture
from lingbot_ros.datasets.base import Cropped, ListedImages
from lingbot_ros.errors import SourceError
import numpy as np
import pytest


def listed(folder, count=5, **size):
    for index in range(count):
        write_picture(folder / f'{index}.png', index, **size)
    return ListedImages('s', [folder / f'{i}.png' for i in range(count)], range(count))


def test_pictures_come_in_the_order_of_the_list(tmp_path):
    source = listed(tmp_path)
    assert indices(source) == [0, 1, 2, 3, 4]
    assert indices(source) == [0, 1, 2, 3, 4]  # and again
    assert [frame.stamp_ns for frame in source] == [0, 1, 2, 3, 4] and source.len_hint == 5
    frame = next(iter(source))
    np.testing.assert_array_equal(frame.image, picture(0))
    assert 's: 5 pictures in' in source.describe()


def test_broken_pictures_are_dropped_and_counted(tmp_path, caplog):
    source = listed(tmp_path)
    (tmp_path / '1.png').write_bytes(b'no picture')
    (tmp_path / '3.png').unlink()
    assert indices(source) == [0, 2, 4] and source.dropped == 2
    assert '1.png dropped' in caplog.text and '3.png dropped' in caplog.text
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(SourceError, match='none of 5 frames could be decoded'):
        list(source)
    with pytest.raises(SourceError, match='s: expected pictures, got an empty list'):
        ListedImages('s', [], [])


@pytest.mark.parametrize('height, width, shape', [
    (38, 124, (38, 68)), (76, 68, (38, 68)), (28, 50, (28, 50)), (280, 504, (280, 504))])
def test_the_central_part(tmp_path, height, width, shape):
    source = listed(tmp_path, 2, height=height, width=width)
    frames = list(Cropped(source, 504, 280))
    assert [frame.image.shape for frame in frames] == [(*shape, 3)] * 2
    top, left = (height - shape[0]) // 2, (width - shape[1]) // 2
    np.testing.assert_array_equal(
        frames[1].image, picture(1, height, width)[top:top + shape[0], left:left + shape[1]])
    assert frames[1].stamp_ns == 1


def test_cropping_hands_on_what_was_dropped(tmp_path):
    source = listed(tmp_path)
    (tmp_path / '1.png').unlink()
    cropped = Cropped(source, 1, 1)
    assert len(list(cropped)) == 4 and cropped.dropped == 1 and cropped.len_hint == 5
    assert 'cropped to 1:1' in cropped.describe()
